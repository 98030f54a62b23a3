"""Beginning a study of three ways: what institutions learn, how unlike they are, with how many seeds."""

from __future__ import annotations

from typing import Any, get_args

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.extension import Workload
from workshop.pages import frame, studies
from workshop.registry import workloads
from workshop.store.records import Identity, SessionRecord
from workshop.workloads.federated.study import beginning
from workshop.workloads.federated.study.plan import MEASURES, SEEDS, SETTINGS

TASKS = {"federated": "Handwritten digits", "segmentation": "Tumours in scans"}
PARTITIONS = {
    "dirichlet": "in very different shares",
    "label": "few digits each",
    "iid": "all alike",
    "unequal": "many to some, few to others",
    "shift": "each with a scanner of its own",
}
MOST_SEEDS = 20  # that the page offers


def form(session: SessionRecord | None, identity: Identity) -> None:
    """The instructor's form; learners are told to wait."""
    if identity.role != "instructor":
        st.info("The instructor has not prepared the three ways yet.", icon=":material/hourglass_empty:")
        return
    known = {name: workloads()[name] for name in MEASURES if name in workloads()}
    with st.container(border=True, key="federated-begin"):
        st.markdown("#### Prepare the three ways")
        st.markdown("Nothing is run before you say so: first the class predicts what will come out.")
        name = st.segmented_control(
            "Task", list(known), default=next(iter(known)), required=True, format_func=lambda one: TASKS[one]
        )
        chosen = known[name]
        try:
            given, seeds = _given(chosen)
            wanted = beginning.checked(frame.store(), chosen, given, seeds, session)
        except WorkshopError as error:
            st.error(frame.plain(str(error)))
            return
        told, why = beginning.expected(frame.store(), wanted)
        st.markdown(f"**{wanted.seeds} runs**, about **{words.long(told)}** in all ({frame.plain(why)}).")
        if st.button("Prepare it", type="primary", icon=":material/diversity_3:"):
            studies.begin(lambda: beginning.begin(frame.store(), wanted, identity.nickname), identity)


def _given(chosen: Workload) -> tuple[dict[str, Any], int]:
    """What all runs have in common, and how many there are."""
    preset, fields = SETTINGS[chosen.name], chosen.params.model_fields
    given: dict[str, Any] = {}
    if "partition" in fields:
        options = [one for one in get_args(fields["partition"].annotation) if one in PARTITIONS]
        begin = preset.get("partition", fields["partition"].default)
        given["partition"] = st.selectbox(
            "How images are dealt", options, index=options.index(begin), format_func=lambda one: PARTITIONS[one]
        )
    columns = st.columns(3)
    for column, (name, most) in zip(columns, (("institutions", 16), ("rounds", 200)), strict=False):
        if name in fields:
            with column:
                start = preset.get(name, fields[name].default)
                given[name] = st.number_input(
                    name.capitalize(), 1, max(most, start), start, help=fields[name].description
                )
    with columns[2]:
        seeds = st.number_input("Seeds", 1, MOST_SEEDS, SEEDS, help="runs of all three ways, each with luck of its own")
    return given, int(seeds)
