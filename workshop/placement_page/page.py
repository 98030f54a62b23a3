"""Placement: compose one, see where its ranks would run and which commands say so, run it, and read reports."""

from collections.abc import Sequence

import streamlit as st

from workshop.core import topology
from workshop.core.placement import Host
from workshop.core.words import listed
from workshop.extension import Failure
from workshop.mpi import inventory
from workshop.mpi.mapper import Prediction
from workshop.pages import blocks, frame
from workshop.pages.guided_failures import guided_failures
from workshop.pages.live import run_view
from workshop.placement_page import composition, prediction, report
from workshop.placement_page.composition import Composition
from workshop.registry import first_workload
from workshop.report.failures import failures
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
    with guided:
        if session is None or not session.machine.get("units"):
            st.markdown("Guided failures need a session that has told which machine it is on.")
        else:
            guided_failures(session, identity, _failures(session))
    with compose:
        _compose(session, identity)


def _failures(session: SessionRecord) -> Sequence[Failure]:
    """Mistakes in a placement on the session's machine."""
    machine = session.machine
    here = session.site["kind"] == "local"
    cores = topology.allowed_cores(machine) if here else len({unit["core"] for unit in machine["units"]})
    hosts = tuple(Host(**host) for host in session.placement.get("hosts") or [])
    return failures(cores, hosts, inventory.installed())


def _compose(session: SessionRecord | None, identity: Identity) -> None:
    form, results = st.columns([6, 13], gap="medium")
    with form, st.container(border=True, key="compose"):
        composed = composition.form()
    with results:
        predicted, answer, commands, run = None, st.container(), st.container(), st.container()
        st.markdown("#### What did your MPI do?")
        pasted = st.container()
        if composed is None:
            answer.info("Mend what the form says is wrong, and the prediction comes back.", icon=":material/edit:")
        else:
            with commands:
                st.markdown("#### How to say it")
                composition.commands(composed)
            with answer:  # after the commands, because the mapper may take seconds
                st.markdown("#### Where the ranks would run")
                predicted = prediction.predict(composed, identity)
                prediction.show(composed, predicted)
            with run:
                _run(composed, predicted, session, identity)
        with pasted:
            report.pasted(composed, predicted)


def _run(composed: Composition, predicted: Prediction, session: SessionRecord | None, identity: Identity) -> None:
    """The workload that forms begin with on this placement, in the session."""
    workload = first_workload()
    st.markdown("#### Run it here")
    if session is None or frame.not_up(session):
        st.markdown(frame.not_up(session))
    elif predicted.refused is not None:
        st.markdown("The MPI refuses this placement, so it can't be run.")
    elif away := _away(composed, session):
        st.markdown(frame.plain(away))
    elif st.button(f"Run {workload.title} on this placement", icon=":material/play_arrow:", type="primary"):
        with blocks.errors():
            run = actions.submit(frame.store(), identity, session, workload.name, {}, composed.placement.as_json())
            st.session_state["place-run"] = run.id
    if run_id := st.session_state.get("place-run"):
        run_view(run_id, identity)


def _away(composed: Composition, session: SessionRecord) -> str:
    """Why the machine of a placement isn't one on which the session can run it; "" where it is."""
    session_hosts = {host["name"] for host in session.placement.get("hosts") or []}
    if foreign := [host.name for host in composed.placement.hosts if host.name not in session_hosts]:
        return f"This placement is for hosts that the session doesn't have: {listed(foreign)}."
    if composed.described.real or session_hosts:
        return ""
    return f"This placement is for {composed.described.name}, which isn't here. Choose the machine this to run it here."
