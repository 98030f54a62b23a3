"""Planning a grid from a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.errors import BadInput
from workshop.extension import Workload
from workshop.notebook.request import on_top
from workshop.notebook.study_plan import PlannedStudy, params_of, parted_for, whole
from workshop.runtime import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store

_GRID = (
    "vary",
    "repeats",
    "best",
    "best_repeats",
    "sampler",
    "trials",
    "limit",
    "seed",
    "weak",
    "compare",
    "seeds",
    "title",
)


def plan(store: Store, session: SessionRecord, chosen: Workload, asked: dict[str, Any]) -> PlannedStudy:
    from workshop.study.estimate import seconds_each
    from workshop.study.grid import plan as grids

    own = {name: asked.pop(name) for name in _GRID if name in asked and name not in params_of(chosen, name)}
    vary = own.get("vary")
    if not isinstance(vary, Mapping):
        raise BadInput("A grid needs vary, such as vary={'ranks': [1, 2], 'batch': [32, 64]}.")
    params, fields = parted_for(chosen, asked, (*_GRID, "minutes"))
    placement = client.placement_in(session, on_top(session.placement, fields))
    cells, again = whole("best", own.get("best", 2)), whole("best_repeats", own.get("best_repeats", 3))
    name = own.get("sampler")
    trials = {"trials": whole("trials", own["trials"])} if "trials" in own else {}
    wanted = grids.plan(
        chosen,
        {axis: list(values) if isinstance(values, tuple | range) else values for axis, values in vary.items()},
        params,
        placement,
        repeats=own.get("repeats", 1),
        best={"cells": cells, "repeats": again},
        sampler=None if name is None else {"name": name, "seed": own.get("seed", 0), **trials},
        limit=own.get("limit"),
        seed=own.get("seed", 0),
        shared=not own.get("weak", False),
        compare=own.get("compare", ""),
        seeds=bool(own.get("seeds", False)),
        title=own.get("title", ""),
        seconds=seconds_each(store, chosen.name, {})[0],
    )
    return grids.check_placements(wanted, lambda one: client.placement_in(session, one.as_json()))
