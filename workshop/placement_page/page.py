"""Placement: compose one, see where its ranks would run and which commands say so, run it, and read reports."""

import streamlit as st

from workshop.pages import blocks, frame
from workshop.pages.live import run_view
from workshop.placement_page import composition, failures, prediction, report
from workshop.placement_page.composition import Composition
from workshop.registry import first_workload
from workshop.server import actions
from workshop.store.records import Identity, SessionRecord

WORDS = (
    "Where would ranks run on a machine that you have, or don't have? Open MPI's own mapper answers here, without "
    "starting anything."
)


def page() -> None:
    """Draw the page Placement."""
    identity = frame.heading("Placement", WORDS)
    session = frame.choose_session()
    compose, guided = st.tabs([":material/grid_view: Compose", ":material/healing: Guided failures"])
    with compose:
        _compose(session, identity)
    with guided:
        failures.guided(session, identity)


def _compose(session: SessionRecord | None, identity: Identity) -> None:
    form, shown = st.columns([6, 13], gap="medium")
    with form, st.container(border=True, key="compose"):
        composed = composition.form()
    with shown:
        predicted = None
        if composed is None:
            st.info("Mend what the form says is wrong, and the prediction comes back.", icon=":material/edit:")
        else:
            predicted = prediction.predict(composed, identity)
            st.markdown("#### Where the ranks would run")
            prediction.show(composed, predicted)
            st.markdown("#### How to say it")
            composition.commands(composed)
            _run(composed, session, identity)
        st.markdown("#### What did your MPI do?")
        report.pasted(composed, predicted)


def _run(composed: Composition, session: SessionRecord | None, identity: Identity) -> None:
    """The workload that forms begin with on this placement, in the session."""
    workload = first_workload()
    st.markdown("#### Run it here")
    if frame.recorded() or session is None or session.state in ("stopped", "failed"):
        st.markdown(frame.plain(frame.not_up(session)))
    elif st.button(f"Run {workload.title} on this placement", icon=":material/play_arrow:", type="primary"):
        with blocks.errors():
            run = actions.submit(frame.store(), identity, session, workload.name, {}, composed.placement.as_json())
            st.session_state["place-run"] = run.id
    if run_id := st.session_state.get("place-run"):
        run_view(run_id, identity)
