"""The page Parallelism: a network, a grid and a schedule, and at once what each rank has, exchanges, keeps and does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from workshop.core.errors import BadInput
from workshop.pages import cards, frame, links
from workshop.report.cards import Card
from workshop.server import actions
from workshop.workloads.parallel import WORKLOAD, ParallelParams, plan

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
SCHEDULES = ("naive", "gpipe", "1f1b", "interleaved", "zero-bubble")
MOST = 16  # ranks
MEMORIES = (16, 40, 80, 192)  # GB of one device


def page() -> None:
    """Draw the page."""
    identity = frame.heading("Parallelism", WORDS)
    session = frame.choose_session()
    form, plans = st.columns([1, 2], gap="medium")
    with form, st.container(border=True):
        ranks, settings = _choose()
        start = st.button("Run it", type="primary", icon=":material/play_arrow:", disabled=session is None)
    with plans:
        try:
            params = WORKLOAD.check(settings)
            assert isinstance(params, ParallelParams)
            cards.show_page(plan.cards(params, ranks), "parallelism")
            if start and session is not None:
                placement = {**session.placement, "ranks": ranks, "oversubscribe": True}
                run = actions.submit(frame.store(), identity, session, WORKLOAD.name, settings, placement)
                links.go("run", {"run": str(run.id)})
        except BadInput as error:
            st.error(frame.plain(str(error)), icon=":material/error:")
    if st.toggle("Show networks that fit on no laptop"):
        memory = st.segmented_control("Memory of a device [GB]", MEMORIES, default=MEMORIES[1], required=True)
        cards.show(_large_networks(float(memory)), "parallelism-large", full_width=True)


@st.cache_resource(max_entries=len(MEMORIES), show_spinner="Planning large networks")
def _large_networks(memory: float) -> Card:
    return plan.large_networks(memory * 1e9)


def _described(cut: str) -> str:
    return f"{CUTS[cut]} ({cut})" if CUTS.get(cut) and cut else CUTS.get(cut, cut)


def _choose() -> tuple[int, dict[str, Any]]:
    """The ranks and the settings."""
    network = st.selectbox("Network", NETWORKS)
    ranks = int(st.number_input("Ranks", 1, MOST, 2))
    cut = st.selectbox("Cut", list(CUTS), format_func=_described, accept_new_options=True)
    settings: dict[str, Any] = {"network": network, "cut": cut}
    if "pipeline" in cut:
        settings["schedule"] = st.selectbox("Schedule", SCHEDULES, index=2)
        settings["micro_batches"] = int(st.number_input("Micro-batches", 1, 32, 4))
    settings["zero"] = int(st.selectbox("ZeRO", (0, 1, 2, 3), help="Ranks divide what they would all hold alike."))
    settings["recompute"] = st.toggle("Compute activations again", False)
    return ranks, settings
