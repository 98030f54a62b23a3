"""The form of a placement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from workshop import registry
from workshop.core.placement import USUAL_MPI, Placement
from workshop.mpi import inventory
from workshop.pages.fields import model_form

FOLDED = ("map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "environment")


def placement_form(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Widgets for a placement with the given values. Its hosts stay; other MPIs can be chosen where they are installed.
    Raises BadInput for values that can't be read."""
    there = inventory.installed()
    values, _ = model_form(Placement, given, key, advanced=FOLDED, hidden=("mpi", "hosts"))
    if set(there) - {USUAL_MPI}:
        values["mpi"] = mpi_control(there, given.get("mpi", USUAL_MPI), f"{key}-mpi")
    return values


def mpi_control(names: Iterable[str], given: str, key: str) -> str:
    """A widget to choose one of these MPIs. One that isn't among them, since it is gone, is replaced by the first."""
    known = registry.mpis()
    titles = {name: known[name].title for name in names}
    start = given if given in titles else next(iter(titles))
    chosen: str = st.segmented_control(
        "MPI", list(titles), default=start, required=True, format_func=lambda name: titles[name], key=key
    )
    return chosen
