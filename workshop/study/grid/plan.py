"""Grid studies: every combination of some values, each run at least once. Pure: which trials, and why not.

A grid that is too large to run as a whole is sampled, at random or by Optuna (`sampler`). Every cell is run equally
often in interleaved rounds; then the best ones are repeated, since the best of many measured once owes that to chance,
too (the optimiser's curse: Smith and Winkler, Management Science 52(3), 2006).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.store.records import Trial
from workshop.study.estimate import SECONDS
from workshop.study.grid import axes as axes_of
from workshop.study.grid import options
from workshop.study.grid import seeds as seeding
from workshop.study.grid.seeds import with_seeds
from workshop.study.scaling.plan import REPEATS, scaling_of
from workshop.study.trials import Cell, description, interleave

KIND = "grid"
MOST = 500  # cells that a study runs unless somebody sets a limit
TRIED = 2000  # points that are tried for one whose params fit together
ASKED = 15.0  # seconds for asking about placements beforehand; what is left is found when it is run


@dataclass(frozen=True)
class GridStudy:
    """What was asked for, checked: see `plan`."""

    workload: str
    axes: Mapping[str, Sequence[Any]]
    params: Mapping[str, Any]  # of all trials, but for what is varied
    placement: Mapping[str, Any]
    rate: str  # the metric that is compared
    unit: str
    repeats: int
    best: Mapping[str, int] | None  # cells, repeats
    sampler: Mapping[str, Any] | None  # name, trials, seed
    limit: Mapping[str, int] | None  # cells, seed
    shared: bool
    title: str
    seeds: bool  # whether each repeat has a seed of its own
    cells: tuple[Cell, ...]  # none for a sampler, which chooses while the study goes on

    def description(self) -> dict[str, Any]:
        return description(self, "workload", "cells", *(() if self.seeds else ("seeds",)))

    def trials(self) -> list[Trial]:
        """The first rounds: all cells once, and then those that can be, each round beginning with another one."""
        first = interleave(self.cells, 1)
        able = [cell for cell in self.cells if not cell.why]
        turned = able[1:] + able[:1]
        rest = interleave(turned, self.repeats - 1, len(first) + 1, 2) if able else []
        return with_seeds([*first, *rest], self.description())

    def runs(self) -> int:
        """How many runs it takes in all, as far as one can tell beforehand."""
        if self.sampler:
            cells = min(self.sampler["trials"], axes_of.count(self.axes))
        else:
            cells = sum(not cell.why for cell in self.cells)
        return cells * self.repeats + again(self.best, self.repeats, cells)


def plan(
    workload: Workload,
    axes: Mapping[str, Any],
    params: Mapping[str, Any],
    placement: Placement,
    *,
    repeats: int = 1,
    best: Mapping[str, int] | None = None,
    sampler: Mapping[str, Any] | None = None,
    limit: int | None = None,
    seed: int = 0,
    title: str = "",
    shared: bool = True,
    compare: str = "",
    seeds: bool = False,
    seconds: float = SECONDS,
) -> GridStudy:
    """A study over `axes` (name -> values) of the params that were given and a placement. Raises BadInput.

    `best` ({"cells", "repeats"}): so many of the best cells are repeated until each was run so often. `sampler`
    ({"name", "trials", "seed"}) chooses the cells while the study goes on; `limit` takes so many at random, drawn with
    `seed`. `shared`: where the ranks are varied, they divide the work of a step (`Scaling.share`) among them, as in a
    scaling study. `compare` names the metric by which cells are compared, the more the better, in place of how fast
    they are; with `seeds` every repeat has a seed of its own. `seconds`: how long a run is likely to take, to say how
    long too many would.
    """
    scaling = scaling_of(workload)
    metric = seeding.metric(compare.strip())
    repeats = options.between("repeats", repeats, 1, REPEATS)
    values = axes_of.read_axes(axes, workload)
    if seeds:
        seeding.check(workload, values)
    shared = shared and "ranks" in values and bool(scaling.share)
    given = {**scaling.strong, **params} if shared else dict(params)
    base = _base(workload, values, given)
    where = placement.as_json()
    chosen = options.sampler(sampler)
    limited = None if limit is None else {"cells": options.between("limit", limit, 1, options.MOST_LIMIT), "seed": seed}
    if limited and chosen:
        raise BadInput("A study has either a limit or a sampler, which has its own number of trials; leave one out.")
    found: list[Cell] = []
    if not chosen:
        total = axes_of.count(values)
        if limited is None and total > MOST:
            raise BadInput(_too_many(values, total, repeats, seconds))
        at = axes_of.sample(values, limited["cells"], seed) if limited else axes_of.points(values)
        found = [axes_of.cell(point, workload, base, where, shared) for point in at]
        _some_can_be(found)
    own = {name.removeprefix(axes_of.PARAM) for name in axes_of.params_at(dict.fromkeys(values))}
    return GridStudy(
        workload.name,
        values,
        {name: value for name, value in base.items() if name not in own},
        {name: value for name, value in where.items() if name not in values},
        metric or scaling.rate,
        metric.replace("_", " ") if metric not in ("", scaling.rate) else scaling.unit,
        repeats,
        options.best(best),
        chosen,
        limited,
        shared,
        options.title(title),
        seeds,
        tuple(found),
    )


def check_placements(
    study: GridStudy,
    check: Callable[[Placement], object],
    seconds: float = ASKED,
    clock: Callable[[], float] = time.monotonic,
) -> GridStudy:
    """The same study, whose cells with a placement that `check` refuses say so. Raises BadInput with the words of the
    refusal where that leaves none, or where a sampler's only placement is refused."""
    only = not study.cells and not any(axis in axes_of.PLACING for axis in study.axes)
    if only and (why := _answer(check, Placement.parse(study.placement))):
        raise BadInput(why)
    until = clock() + seconds
    answers: dict[str, str] = {}
    cells = []
    for cell in study.cells:
        key = repr(sorted(cell.placement.items(), key=str))
        if not cell.why and key not in answers and clock() < until:
            answers[key] = _answer(check, Placement.parse(cell.placement))
        cells.append(replace(cell, why=cell.why or answers.get(key, "")))
    _some_can_be(cells)
    return replace(study, cells=tuple(cells))


def some_cell(study: GridStudy, workload: Workload) -> Cell:
    """The first cell that can be run. Raises BadInput with the reason of the first cell where none can be run."""
    first: Cell | None = None
    over = (study.params, study.placement, study.shared)
    found = study.cells or (axes_of.cell(point, workload, *over) for point in axes_of.points(study.axes))
    for cell in itertools.islice(found, TRIED):
        if not cell.why:
            return cell
        first = first or cell
    assert first is not None, "every axis has a value"
    raise BadInput(f"No cell can be run: {first.label}: {first.why}")


def again(best: Mapping[str, int] | None, repeats: int, cells: int) -> int:
    """How many runs repeating the best cells takes, if they stay the best."""
    return min(best["cells"], cells) * max(best["repeats"] - repeats, 0) if best else 0


def _answer(check: Callable[[Placement], object], placement: Placement) -> str:
    try:
        check(placement)
    except BadInput as error:
        return " ".join(str(error).split())
    except WorkshopError:  # nobody answered in time: the run itself will tell
        return ""
    return ""


def _some_can_be(cells: Sequence[Cell]) -> None:
    if cells and all(cell.why for cell in cells):
        each = f"None of the {len(cells)} cells can be run" if len(cells) > 1 else "The only cell can't be run"
        raise BadInput(f"{each}: {cells[0].label}: {cells[0].why}")


def _base(workload: Workload, axes: Mapping[str, Sequence[Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """All params; those that are varied have the first values that fit together. Raises BadInput where none do."""
    first: BadInput | None = None
    for point in itertools.islice(axes_of.points(axes), TRIED):
        try:
            return workload.check({**given, **axes_of.params_at(point)}).model_dump(mode="json")
        except BadInput as error:
            first = first or error
    assert first is not None, "every axis has a value"
    raise first


def _too_many(axes: Mapping[str, Sequence[Any]], total: int, repeats: int, seconds: float) -> str:
    shape = " x ".join(str(len(values)) for values in axes.values())
    each = "" if repeats == 1 else f", {repeats} runs each"
    return (
        f"The grid has {total:,} cells ({shape}{each}), which would take about "
        f"{words.long(total * repeats * seconds)} at {words.seconds(seconds)} a run; give a limit (--limit 50: so many "
        f"of them, at random) or a sampler (--sampler tpe --trials 50), or vary less: up to {MOST} cells are run as "
        "they are."
    )
