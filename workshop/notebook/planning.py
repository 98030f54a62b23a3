"""What studies a notebook can ask for, planned as the command line plans them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Protocol

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.notebook.asking import on_top, parted, plain, unknown
from workshop.notebook.session import cores_of
from workshop.runtime import client
from workshop.store.records import Identity, SessionRecord
from workshop.store.store import Store


class Wanted(Protocol):
    """A study that was planned."""

    cells: Sequence[Any]

    def description(self) -> Mapping[str, Any]: ...

    def trials(self) -> Sequence[Any]: ...


def check(store: Store, session: SessionRecord, chosen: Workload, wanted: Wanted, whose: Identity | None) -> None:
    """Refuse beforehand what none of the runs could do. Raises BadInput."""
    for one in wanted.cells:
        if one.why:  # a trial that can't be, which says so
            continue
        placement = client.placement_in(session, one.placement)
        params = chosen.check(one.params)
        if whose is not None:
            client.check_limits(placement, session.limits, chosen.processes(params) if chosen.processes else 0)
        client.inputs_of(store, chosen, params, placement)


def _scaling(store: Store, session: SessionRecord, chosen: Workload, asked: dict[str, Any]) -> Wanted:
    from workshop.study.scaling.plan import default_ranks, plan

    given = asked.pop("ranks", None) or default_ranks(cores_of(session))
    ranks = sorted(_whole("ranks", number) for number in ([given] if isinstance(given, int) else given))
    weak, repeats = bool(asked.pop("weak", False)), _whole("repeats", asked.pop("repeats", 3))
    params, fields = _parted(chosen, asked, ("ranks", "weak", "repeats", "minutes"))
    placement = client.placement_in(session, on_top(session.placement, {**fields, "ranks": ranks[0]}))
    return plan(chosen, params, ranks, placement, weak, repeats)


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


def _grid(store: Store, session: SessionRecord, chosen: Workload, asked: dict[str, Any]) -> Wanted:
    from workshop.study.estimate import seconds_each
    from workshop.study.grid import plan as grids

    own = {name: asked.pop(name) for name in _GRID if name in asked and name not in _params_of(chosen, name)}
    vary = own.get("vary")
    if not isinstance(vary, Mapping):
        raise BadInput("A grid needs vary, such as vary={'ranks': [1, 2], 'batch': [32, 64]}.")
    params, fields = _parted(chosen, asked, (*_GRID, "minutes"))
    placement = client.placement_in(session, on_top(session.placement, fields))
    cells, again = _whole("best", own.get("best", 2)), _whole("best_repeats", own.get("best_repeats", 3))
    name = own.get("sampler")
    trials = {"trials": _whole("trials", own["trials"])} if "trials" in own else {}
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
    return grids.asked(wanted, lambda one: client.placement_in(session, one.as_json()))


def _ways(store: Store, session: SessionRecord, chosen: Workload, asked: dict[str, Any]) -> Wanted:
    from workshop.study.ways.beginning import checked
    from workshop.study.ways.plan import SEEDS

    seeds = _whole("seeds", asked.pop("seeds", SEEDS))
    params, fields = _parted(chosen, asked, ("seeds", "minutes"))
    placement = client.placement_in(session, on_top(session.placement, fields))
    return checked(store, chosen, params, seeds, session, placement)


PLANS: dict[str, Callable[[Store, SessionRecord, Workload, dict[str, Any]], Wanted]] = {
    "scaling": _scaling,
    "grid": _grid,
    "ways": _ways,
}
DEFAULT = {"ways": "federated"}


def missing(kind: str) -> str:
    raise BadInput(f"Of which workload? Give its name, such as session.study({kind!r}, 'kmeans').")


def _params_of(chosen: Workload, name: str) -> tuple[str, ...]:
    """A name that the study and the workload both have is the study's, but for the seed, which runs need."""
    return tuple(chosen.params.model_fields) if name == "seed" else ()


def _parted(chosen: Workload, asked: Mapping[str, Any], own: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Params and fields; a name that is neither may be meant for the study."""
    for name in asked:
        elsewhere = name in chosen.params.model_fields or name in Placement.model_fields
        if not elsewhere and get_close_matches(name, own, 1, 0.8):
            raise unknown(name, own, "a setting of the study")
    return parted(chosen, asked)


def _whole(name: str, value: Any) -> int:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(f"{name} is {value!r}: it should be a whole number.")
    return value


def number(name: str, value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadInput(f"{name} is {value!r}: it should be a number from {least:g} to {most:g}.")
    return float(value)
