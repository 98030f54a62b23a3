"""The page Parallelism: a network, a grid and a schedule, and at once what each rank has, exchanges, keeps and does."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.report.cards import Card
from workshop.report.failures import failures_of
from workshop.report.sentences import STATUS
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.web import actions
from workshop.web.pages import blocks, classroom_bar, frame
from workshop.web.pages.predictions import guided_failures
from workshop.workloads.parallel import WORKLOAD, ParallelParams, panels, plan

WORDS = (
    "A training can be divided in many ways. Choose a network, a cut and a schedule: the page shows what each rank "
    "has, what a step exchanges, how much memory each rank needs, and when a pipeline idles. Then run it, and compare."
)
CUTS: Mapping[str, str] = {
    "": "data",
    "tensor:2": "tensor",
    "sequence:2": "sequence",
    "pipeline:2": "pipeline",
    "pipeline:2,tensor:2": "pipeline and tensor",
    "pipeline:4": "pipeline of four",
    "spatial:2": "spatial (convolutional)",
    "channel:2": "channel (convolutional)",
}
NETWORKS = ("transformer", "perceptron", "convolutional")
SCHEDULES = ("naive", "gpipe", "1f1b", "interleaved", "zero-bubble", "bidirectional")
MOST_RANKS = 16  # ranks
RECOMPUTE = "Keep no activations of a block, and compute them a second time in the backward computation."
PACED = 0.02  # seconds of the forward computation of a stage
PACE = (
    "Each stage takes a set time for a micro-batch, and holds no core while it waits. So two cores show a pipeline "
    "with more stages."
)
EVERY = 2.0  # seconds between looks at a run that goes on
RECENT = 100  # newest runs of the session that are searched for one with these settings
MEMORIES = (16, 40, 80, 192)  # GB of one device


def page() -> None:
    """Draw the page, or for the projector the pipeline of a run, whose micro-batches a class follows."""
    if classroom_bar.requested():
        _screen()
        return
    identity = frame.heading("Parallelism", WORDS)
    session = frame.choose_session()
    form, plans = st.columns([1, 2], gap="medium")
    with form, st.container(border=True):
        ranks, settings = _choose(session)
        start = st.button("Run it", type="primary", icon=":material/play_arrow:", disabled=session is None)
    with plans:
        try:
            params = WORKLOAD.check(settings)
            assert isinstance(params, ParallelParams)
            if start and session is not None:
                placement = {**session.placement, "ranks": ranks, "oversubscribe": True}
                actions.submit(frame.store(), identity, session, WORKLOAD.name, settings, placement)
            predicted = plan.cards(params, ranks)
            run = _newest_run(session, params, ranks)
            live = run is not None and not run.ended
            st.fragment(run_every=EVERY if live else None)(_compare)(predicted, run.id if run else None, live)
        except BadInput as error:
            st.error(frame.plain(str(error)), icon=":material/error:")
    st.markdown("### Go wrong on purpose")
    guided_failures(session, identity, failures_of(WORKLOAD.name))
    if st.toggle("Show networks that fit on no laptop"):
        memory = st.segmented_control("Memory of a device [GB]", MEMORIES, default=MEMORIES[1], required=True)
        blocks.show(_large_networks(float(memory)), "parallelism-large", full_width=True)


def _screen() -> None:
    run = blocks.linked("run", frame.store().run, "so there is no pipeline to show")
    if run is not None:
        with st.container(key="projector"):
            st.markdown(f"## {frame.plain(WORKLOAD.title)} · run {run.id}")
            timelines = panels.timelines(Snapshot(frame.store(), run))
            for card in timelines:
                blocks.show(card, "parallelism-projector", full_width=True)
            if not timelines:
                st.info("A run with a pipeline shows its timeline here when it has ended.", icon=":material/info:")


def _newest_run(session: SessionRecord | None, params: ParallelParams, ranks: int) -> RunRecord | None:
    """The newest run of the session with these settings. An older run may lack params, which then have their usual
    values."""
    runs = frame.store().runs(session_id=session.id, limit=RECENT) if session else ()
    same = (run for run in runs if run.workload == WORKLOAD.name and run.placement.get("ranks") == ranks)
    usual = WORKLOAD.params().model_dump()
    return next((run for run in same if {**usual, **run.params} == params.model_dump()), None)


def _compare(predicted: Sequence[Card], run_id: int | None, live: bool) -> None:
    """The plan, and beside it what the newest run with these settings measured."""
    if run_id is None:
        blocks.show_page(predicted, "parallelism")
        return
    run = frame.store().run(run_id)
    if live and run.ended:
        st.rerun()  # draws the page without further refreshes
    frame.run_link(run.id, f"Run {run.id} · {STATUS[run.status]}")
    if run.ended and "pipeline" in run.params.get("cut", ""):
        query = {"run": str(run.id), classroom_bar.PARAMETER: "1"}
        frame.link("parallelism", "Show the pipeline on the projector", ":material/present_to_all:", query)
    if run.verdict:
        st.markdown(f"**{frame.plain(run.verdict['verdict'])}** {frame.plain(run.verdict['why'])}")
    snapshot = Snapshot(frame.store(), run)
    measured = {panel.name: card for panel in panels.PANELS for card in panel.show(snapshot)}
    if not measured:  # the run goes on, or it has failed
        blocks.show_page(predicted, "parallelism")
        return
    beside = [
        replace(card, half=True, title=title)
        for planned in predicted[1:]
        for card, title in (
            (planned, f"{planned.title}, by formula"),
            (measured.get(plan.MEASURED[planned.name]), f"{planned.title}, measured"),
        )
        if card is not None
    ]
    blocks.show_page([*predicted[:1], *beside], "parallelism")


@st.cache_resource(max_entries=len(MEMORIES), show_spinner="Planning large networks")
def _large_networks(memory: float) -> Card:
    return plan.large_networks(memory * 1e9)


def _described(cut: str) -> str:
    return f"{CUTS[cut]} ({cut})" if CUTS.get(cut) and cut else CUTS.get(cut, cut)


def _choose(session: SessionRecord | None) -> tuple[int, dict[str, Any]]:
    """The ranks and the settings."""
    machine = session.machine if session else {}
    cores = topology.allowed_cores(machine) if machine.get("units") else 1
    network = st.selectbox("Network", NETWORKS)
    cut = st.selectbox("Cut", list(CUTS), format_func=_described, accept_new_options=True)
    places = math.prod(int(size) for size in re.findall(r":([1-9]\d?)\b", cut))
    ranks = int(st.number_input("Ranks", 1, MOST_RANKS, min(max(2, places), MOST_RANKS), key=f"ranks-{places}"))
    settings: dict[str, Any] = {"network": network, "cut": cut}
    if "pipeline" in cut:
        settings["schedule"] = st.selectbox("Schedule", SCHEDULES, index=2)
        settings["micro_batches"] = int(st.number_input("Micro-batches", 1, 32, 4))
        if st.toggle("Pace the stages", ranks > cores, help=PACE, key=f"pace-{ranks > cores}"):
            settings |= {"pace": PACED, "steps": 8}
    settings["zero"] = int(st.selectbox("ZeRO", (0, 1, 2, 3), help="Ranks divide what each of them would hold."))
    settings["recompute"] = st.toggle("Recompute activations", False, help=RECOMPUTE)
    return ranks, settings
