"""The session: its state, its ranks on the machine, whose turn it is; launching and stopping for the instructor."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from workshop.core.placement import Placement
from workshop.mpi import horovod
from workshop.store.records import Identity, SessionRecord
from workshop.web import actions
from workshop.web.pages import blocks, classroom_bar, frame
from workshop.web.pages.fields import placement_form
from workshop.web.pages.live import session_view

COMPILED = 10.0  # seconds between looks at how far Horovod is


def page() -> None:
    if classroom_bar.requested():
        classroom_bar.class_screen(next((session for session in frame.store().sessions() if not session.private), None))
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
        _controls(session, identity)


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
    words = str(build)
    if build.state == "failed" and identity.role != "instructor":  # the reason has paths of the machine's owner
        words = f"Training exchanges gradients with MPI. Horovod: {build.obstacle}."
    st.info(frame.plain(words), icon=":material/build:" if build.state == "running" else ":material/info:")


def _controls(session: SessionRecord | None, identity: Identity) -> None:
    """Everything that the instructor can do with the session, and the form of another one."""
    launched = session if session is not None and session.state not in ("stopped", "failed") else None
    if launched is not None:
        with st.container(border=True):
            st.markdown(f"**This session** · {frame.plain(launched.name)}")
            with st.container(horizontal=True):
                _buttons(launched, identity)
        with st.expander("Limits for learners"), st.form("limits", border=False):
            _limits(launched, identity)
    label, free = "Launch another session", ""
    if launched is None and session is not None:
        blocks.start_again(session, identity)
    if launched is None:
        label, free = "Launch a session", session.name if session is not None else "workshop"
    with st.expander(label, expanded=launched is None), blocks.errors():
        _launch(free, session, identity)


def _buttons(session: SessionRecord, identity: Identity) -> None:
    words = "This ends the ranks, cancels the run that they compute, and starts new ones. The queue stays."
    if blocks.confirmed("Reset", ":material/restart_alt:", words, "Reset it"):
        with blocks.errors():
            actions.reset(frame.store(), identity, session.name)
            st.toast("New ranks are being started.")
            st.rerun()
    words = "This ends the session and whatever runs in it. The history stays."
    if blocks.confirmed("Stop", ":material/stop_circle:", words, "Stop it"):
        with blocks.errors(), st.spinner("Stopping …"):
            actions.stop(frame.store(), identity, session.name)
            st.toast("The session is stopped.")
            st.rerun()


def _limits(session: SessionRecord, identity: Identity) -> None:
    now = session.limits
    limits = replace(
        now,
        ranks=st.number_input("Ranks", 1, 1024, now.ranks),
        threads=st.number_input("Threads per rank", 1, 1024, now.threads),
        minutes=st.number_input("Minutes per run", 0.1, 1440.0, now.minutes, step=1.0, format="%g"),
        queued=st.number_input("Unfinished runs each", 1, 1024, now.queued),
        total=st.number_input("Unfinished runs of all learners", 1, 1024, now.total),
    )
    if st.form_submit_button("Set"):
        with blocks.errors():
            actions.set_limits(frame.store(), identity, session.name, limits)
            st.toast("The limits are set.")


def _launch(free: str, like: SessionRecord | None, identity: Identity) -> None:
    """The form of a session that begins with a `free` name, and with the placement of the one it should be `like`."""
    name = st.text_input(
        "Name", free, max_chars=40, help="Lower-case letters, digits and -", key=f"name-{free}"
    ).strip()
    placement = placement_form(like.placement if like is not None else Placement().as_json(), "launch")
    if st.button("Launch", type="primary", width="stretch", icon=":material/rocket_launch:"):
        actions.launch(frame.store(), identity, name, placement)
        st.query_params["session"] = name
        st.rerun()
