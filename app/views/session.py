"""The session: its state, its ranks on the machine, whose turn it is; launching and stopping for the instructor."""

import streamlit as st

from workshop.mpi import horovod
from workshop.pages import frame, projector, session_controls
from workshop.pages.live import session_view
from workshop.store.records import Identity, SessionRecord

COMPILED = 10.0  # seconds between looks at how far Horovod is


def page() -> None:
    if projector.requested():
        projector.class_screen(next((session for session in frame.store().sessions() if not session.private), None))
        return
    identity = frame.heading("Session")
    session = frame.choose_session()
    if identity.role != "instructor" or frame.recorded():
        _view(session, identity)
        return
    main, controls = st.columns([3, 1], gap="medium")
    with main:
        _view(session, identity)
    with controls:
        session_controls.controls(session, identity)


def _view(session: SessionRecord | None, identity: Identity) -> None:
    if not frame.recorded() and horovod.build().state != "built":
        st.fragment(run_every=COMPILED)(_horovod)(identity)
    if session is None:
        st.info("No session has been launched yet.", icon=":material/info:")
    else:
        session_view(session.name)


def _horovod(identity: Identity) -> None:
    """How far Horovod is, while it isn't built."""
    build = horovod.build()
    words = str(build) if identity.role == "instructor" else build.brief
    st.info(frame.plain(words), icon=":material/build:" if build.state == "running" else ":material/info:")
