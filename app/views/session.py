"""The session: its state, its ranks on the machine, whose turn it is; launching and stopping for the instructor."""

from dataclasses import replace

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.mpi import horovod
from workshop.pages import frame
from workshop.pages.live import session_view
from workshop.pages.placement import placement_form
from workshop.server import actions
from workshop.store.records import Identity, SessionRecord

EVERY = 2.0  # seconds between looks at who has the ranks
COMPILED = 10.0  # seconds between looks at how far Horovod is


def main() -> None:
    identity = frame.heading("Session")
    session = frame.choose_session()
    if identity.role != "instructor" or frame.recorded():
        _view(session, identity)
        return
    shown, controls = st.columns([3, 1], gap="medium")
    with shown:
        _view(session, identity)
    with controls:
        if session is not None and session.state not in ("stopped", "failed"):
            _running(session, identity)
        _launch(session, identity)


def _view(session: SessionRecord | None, identity: Identity) -> None:
    if not frame.recorded() and horovod.build().state != "built":
        st.fragment(run_every=COMPILED)(_horovod)(identity)
    if session is None:
        st.info("No session has been launched yet.", icon=":material/info:")
    else:
        session_view(session.name)


def _horovod(identity: Identity) -> None:
    """How far Horovod is, while it isn't built."""
    found = horovod.build()
    words = str(found) if identity.role == "instructor" else found.brief
    st.info(frame.plain(words), icon=":material/build:" if found.state == "running" else ":material/info:")


def _running(session: SessionRecord, identity: Identity) -> None:
    with st.container(border=True):
        st.markdown(f"**This session** · {frame.plain(session.name)}")
        with st.container(horizontal=True):
            if st.button(
                "Reset", icon=":material/restart_alt:", help="End the ranks and start new ones; the queue stays"
            ):
                _try(lambda: actions.reset(frame.store(), identity, session.name), "New ranks are being started.")
            st.fragment(run_every=EVERY)(_take_back)(session, identity)
            with st.popover("Stop", icon=":material/stop_circle:"):
                st.markdown("This ends the session and whatever runs in it. The history stays.")
                if st.button("Stop it", type="primary"):
                    with st.spinner("Stopping …"):
                        _try(lambda: actions.stop(frame.store(), identity, session.name), "The session is stopped.")
                    st.rerun()
    with st.expander("Limits for learners"), st.form("limits", border=False):
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
            _try(lambda: actions.set_limits(frame.store(), identity, session.name, limits), "The limits are set.")


def _take_back(session: SessionRecord, identity: Identity) -> None:
    """A button while a notebook has the ranks."""
    held = any(lease.state == "held" for lease in frame.store().leases(session.id))
    if held and st.button(
        "Take back", icon=":material/undo:", help="End a notebook's hold on the ranks; the queue goes on"
    ):
        _try(lambda: actions.reclaim(frame.store(), identity, session.name), "The ranks are taken back.")


def _launch(session: SessionRecord | None, identity: Identity) -> None:
    up = session is not None and session.state not in ("stopped", "failed")
    with st.expander("Launch another session" if up else "Launch a session", expanded=not up):
        free = session.name if session is not None and not up else "workshop" if session is None else ""
        name = st.text_input("Name", free, max_chars=40, help="Lower-case letters, digits and -", key=f"name-{free}")
        given = session.placement if session is not None else Placement().as_json()
        try:
            placement = placement_form(given, "launch")
            if st.button("Launch", type="primary", width="stretch", icon=":material/rocket_launch:"):
                actions.launch(frame.store(), identity, name.strip(), placement)
                st.query_params["session"] = name.strip()
                st.rerun()
        except WorkshopError as error:
            st.error(frame.plain(str(error)))


def _try(action, done: str) -> None:
    """Do something, and say that it is done or why not."""
    try:
        action()
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
    else:
        st.toast(done)


main()
