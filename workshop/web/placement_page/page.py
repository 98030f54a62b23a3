"""Placement: compose one, see where its ranks would run and which commands say so, run it, and read reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from workshop import mpi
from workshop.core import topology, words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Host, Placement
from workshop.core.words import listed
from workshop.mpi import mapper, reports
from workshop.mpi.mapper import Prediction
from workshop.mpi.reports import Read
from workshop.registry import first_workload
from workshop.report.analysis.difference import AS_MEANT, Difference, aligned, difference, sentences
from workshop.report.analysis.threads import oversubscription
from workshop.report.cards import Card
from workshop.report.failures import failures
from workshop.report.figures.machine import machine_picture, sharing_words
from workshop.report.machine_picture import rank_table
from workshop.report.panels.outcome import LEGEND
from workshop.store.records import Identity, SessionRecord
from workshop.web import actions
from workshop.web.pages import blocks, frame
from workshop.web.pages.live import draw_figure, run_view
from workshop.web.pages.predictions import guided_failures
from workshop.web.placement_page import composition
from workshop.web.placement_page.composition import Composition

WORDS = (
    "Where would ranks run on a machine that you have, or don't have? Open MPI's own mapper answers here, without "
    "starting anything."
)
WHAT = """
Paste what your `mpirun` printed, with whatever stands around it: Open MPI's `--report-bindings` or
`--display map`, Intel MPI's `I_MPI_DEBUG=5` or `-print-rank-map`, MPICH's `HYDRA_TOPO_DEBUG=1`.
"""
LONGEST_ANSWER = 5.0  # seconds for one answer: whoever asks about the largest machines keeps a processor busy as long
MOST_UNITS = 1024  # processing units that a picture has room for
NOTATION = """Open MPI's notation: brackets are packages, / stands between cores, each letter is a hardware thread,
and B is where the rank may run."""


def page() -> None:
    """Draw the page Placement."""
    identity = frame.heading("Placement", WORDS)
    session = frame.choose_session()
    titles = (":material/grid_view: Compose", ":material/healing: Guided failures")
    compose, guided = st.tabs(titles, on_change="rerun", key="place-tab")
    with compose:
        _compose(session, identity)
    if not guided.open:
        return
    with guided:
        if session is None or not session.machine.get("units"):
            st.markdown("Guided failures need a session that has told which machine it is on.")
        else:
            machine = session.machine
            here = session.site["kind"] == "local"
            cores = topology.allowed_cores(machine) if here else len({unit["core"] for unit in machine["units"]})
            hosts = tuple(Host(**host) for host in session.placement.get("hosts") or [])
            guided_failures(session, identity, failures(cores, hosts, mpi.installed()))


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
            with answer:
                st.markdown("#### Where the ranks would run")
                unknown = tuple(composed.message.get("unknown", ()))
                predicted = _ask_mapper(composed.placement.model_dump_json(), composed.machine, unknown)
                _show(composed, predicted)
            with commands:  # which put ranks on the hosts of the map
                st.markdown("#### How to say it")
                composition.commands(composed, predicted)
            with run:
                _run(composed, predicted, session, identity)
        with pasted:
            _pasted(composed, predicted)


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


def _pasted(composed: Composition | None, predicted: Prediction | None) -> None:
    """Read a report and draw it."""
    st.markdown(WHAT)
    text = st.text_area("Report", key="place-report", height=220)
    if not text.strip():
        return
    try:
        read, other = _read(text, composed)
    except BadInput as error:
        st.error(frame.plain(str(error)))
        return
    st.markdown(f"#### {read.name}: {words.count(len(read.rank_map['ranks']), 'rank')}")
    if other:
        start = "This report is of another machine than the one above, so only what it says itself is drawn"
        st.info(frame.plain(f"{start}: {other}"))
    differences = _compared(read, predicted) if predicted is not None and not other else None
    if read.machine is None or not any(report["units"] for report in read.rank_map["ranks"]):
        hosts: dict[str, list[int]] = {}
        for report in read.rank_map["ranks"]:
            hosts.setdefault(report["host"], []).append(report["rank"])
        st.code(
            "\n".join(f"{host}: ranks {', '.join(map(str, ranks))}" for host, ranks in hosts.items()), language=None
        )
        return
    aligned_map = aligned(predicted.rank_map, read.rank_map) if differences and predicted is not None else None
    # A report tells nothing of threads: those of the placement count where it can be a report of that.
    map_ = predicted.rank_map if predicted is not None and not other else None
    comparable = map_ is not None and len(map_["ranks"]) == len(read.rank_map["ranks"])
    threads = composed.placement.threads_per_rank if composed is not None and comparable else 1
    _picture(read.machine, read.rank_map, threads, "report", aligned_map)
    if aligned_map:
        st.caption(LEGEND)
    _ranks(read.rank_map, read.machine, "report")


def _compared(read: Read, predicted: Prediction) -> list[Difference]:
    """The differences between report and prediction, which the page shows."""
    if predicted.rank_map is None:
        return []
    predicted_ranks, measured_ranks = len(predicted.rank_map["ranks"]), len(read.rank_map["ranks"])
    if predicted_ranks != measured_ranks:
        st.caption(
            f"The prediction above has {words.count(predicted_ranks, 'rank')}; set {measured_ranks} above to compare "
            "the two."
        )
        return []
    if not any(report["units"] for report in read.rank_map["ranks"]):
        return []
    differences = difference(predicted.rank_map, read.rank_map, read.machine)
    if not differences:
        st.success(f"Against the prediction above: {AS_MEANT[0].lower()}{AS_MEANT[1:]}")
    for sentence in sentences(differences):
        st.warning(frame.plain(sentence))
    return differences


def _read(text: str, composed: Composition | None) -> tuple[Read, str]:
    """The report on the machine that is set above, or else on its own, with the reason. Raises BadInput."""
    if composed is None:
        return reports.read(text), ""
    alone = reports.read(text)  # errors in the text come first
    try:
        return reports.read(text, composed.described.machine), ""
    except BadInput as error:
        return alone, str(error)


@st.cache_data(max_entries=512, ttl=60, show_spinner="Asking the mapper …")
def _ask_mapper(placement: str, machine: str, unknown: tuple[str, ...]) -> Prediction:
    """The mapper's answer, or in its note why it gave none. It is asked once for everybody with the same question. Its
    failure is kept, too, because it may have taken long."""
    where, described = Placement.model_validate_json(placement), composition.read_machine(machine)
    try:
        return mapper.predict(where, described, LONGEST_ANSWER, unknown)
    except WorkshopError as error:
        return Prediction(note=str(error))


def _show(composed: Composition, predicted: Prediction) -> None:
    """The rank map, or why there is none."""
    if predicted.refused is not None:
        _refused(predicted)
    if predicted.note:
        st.info(frame.plain(predicted.note), icon=":material/info:")
    if predicted.rank_map is None or predicted.machine is None:
        return
    crowds = oversubscription(predicted.rank_map, predicted.machine, composed.placement.threads_per_rank)
    for sentence in sharing_words(crowds[:4]):
        st.warning(frame.plain(sentence), icon=":material/group:")
    _picture(predicted.machine, predicted.rank_map, composed.placement.threads_per_rank, "predicted")
    _ranks(predicted.rank_map, predicted.machine, "predicted")


def _refused(predicted: Prediction) -> None:
    """Why, most often in the MPI's own words, and changes that it takes, a click away."""
    in_own_words = ", in its own words" if predicted.own_words else ""
    st.error(f"The MPI refuses this placement{in_own_words}:", icon=":material/block:")
    st.code(predicted.refused, language=None, wrap_lines=True)
    if predicted.advice:
        st.markdown(f"**{frame.plain(predicted.advice)}**")
    with st.container(horizontal=True):
        for number, change in enumerate(predicted.changes):
            label = f"{words.capital(frame.plain(change.words.partition(' (')[0]))}"
            st.button(label, key=f"change-{number}", on_click=composition.take, args=(change.placement,))


def _picture(
    machine: Mapping[str, Any],
    rank_map: Mapping[str, Any],
    threads: int,
    key: str,
    predicted_map: Mapping[str, Any] | None = None,
) -> None:
    """The machine with its ranks: as many hosts as there is room for."""
    hosts = topology.machines(machine)
    drawable, units = [], 0
    for host_machine in hosts.values():
        units += len(host_machine["units"])
        if units > MOST_UNITS:
            break
        drawable.append({name: value for name, value in host_machine.items() if name != "more"})
    if not drawable:
        st.caption(f"A host with {units} hardware threads is too large to be drawn; up to {MOST_UNITS} are.")
        return
    names = {host_machine["host"] for host_machine in drawable}
    ranks = [report for report in rank_map["ranks"] if report["host"] in names]
    draw = st.cache_resource(max_entries=64, show_spinner=False)(machine_picture)
    figure = draw(topology.together(drawable), {**rank_map, "ranks": ranks}, threads, predicted_map)
    with st.container(key=f"machine-{key}"):
        draw_figure(figure, f"picture-{key}")
    if len(drawable) < len(hosts):
        st.caption(f"These are {len(drawable)} of {len(hosts)} hosts.")


def _ranks(rank_map: Mapping[str, Any], machine: Mapping[str, Any], key: str) -> None:
    """Rank by rank, with Open MPI 4's notation."""
    blocks.show(Card("ranks", "", tuple(rank_table(rank_map, machine, "the picture shows them"))), key)
    st.caption(NOTATION)
