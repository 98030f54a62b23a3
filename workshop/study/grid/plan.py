"""Plan grid studies: all combinations of some values, each run at least once. Pure except for `plan_here`.

A grid that is too large is sampled, at random or by Optuna (`sampler`, in a study's file). All cells are run equally
often in interleaved rounds. Then the best cells are repeated, because the best of many cells that were measured once is
partly lucky (the optimiser's curse: Smith and Winkler, Management Science 52(3), 2006).
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.extension import Params, Scaling, Workload
from workshop.registry import workloads
from workshop.report.activity import SEED
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.grid import axes as axes_of
from workshop.study.grid.axes import PLACING, vary_words
from workshop.study.kinds import SECONDS, StudyForm, StudyRequest, seconds_each
from workshop.study.trials import Cell, Plan

MOST_TRIALS = 10_000  # of a sampler
MOST_BEST = 50  # cells that are repeated
SAMPLERS = ("tpe", "random")
REPEATS = 100  # most runs of a cell
_METRIC = re.compile(r"[a-z][a-z0-9_]{0,59}")


def scaling_of(workload: Workload) -> Scaling:
    """The workload's description for scaling studies. Raises BadInput if it has none."""
    if workload.scaling is None:
        able = ", ".join(comparable.name for comparable in workloads().values() if comparable.scaling is not None)
        raise BadInput(
            f"The workload {workload.name} doesn't tell how fast it is, so it can't be compared; "
            f"{able or 'no workload'} can."
        )
    return workload.scaling


def read_sampler(requested: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Name, trials and seed of a sampler, completed with defaults; None for no sampler. Raises BadInput."""
    if requested is None:
        return None
    _only("sampler", requested, ("name", "trials", "seed"))
    name = requested.get("name", "tpe")
    if name not in SAMPLERS:
        raise BadInput(f"sampler is {str(name)[:60]!r}: it should be {' or '.join(SAMPLERS)}.")
    trials = between("trials of the sampler", requested.get("trials", 20), 1, MOST_TRIALS)
    return {"name": name, "trials": trials, "seed": between("seed", requested.get("seed", 0), 0, 2**31 - 1)}


def read_best(requested: Mapping[str, Any] | None) -> dict[str, int] | None:
    """The numbers of best cells and repeats, completed with defaults; None for no repeats. Raises BadInput."""
    if requested is None:
        return None
    _only("best", requested, ("cells", "repeats"))
    cells = between("cells of best", requested.get("cells", 2), 0, MOST_BEST)
    repeats = between("repeats of best", requested.get("repeats", 3), 1, REPEATS)
    return {"cells": cells, "repeats": repeats} if cells else None


def _only(what: str, requested: Iterable[str], names: Sequence[str]) -> None:
    if (odd := next((str(name) for name in requested if name not in names), None)) is not None:
        raise BadInput(f"{what} has no setting {odd[:60]!r}; it has {words.listed(names)}.")


def between(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within these bounds. Raises BadInput."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadInput(f"{name} is {str(value)[:60]}: it should be a whole number from {least:,} to {most:,}.")
    return value


KIND = "grid"
MOST = 500  # cells that a study runs without a sampler
TRIED = 2000  # points that are tried for one whose params fit together
CHECK_SECONDS = 15.0  # seconds for checking placements beforehand; the others are checked when they are run


def plan(
    workload: Workload,
    axes: Mapping[str, Any],
    params: Mapping[str, Any],
    placement: Placement,
    *,
    repeats: int = 1,
    best: Mapping[str, int] | None = None,
    sampler: Mapping[str, Any] | None = None,
    title: str = "",
    shared: bool = True,
    compare: str = "",
    seeds: bool = False,
    summary: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Plan:
    """A study over `axes` (name -> values) of the given params and a placement. Raises BadInput.

    `best` ({"cells", "repeats"}) repeats so many of the best cells until each has so many runs. `sampler` ({"name",
    "trials", "seed"}) chooses the cells while the study goes on. `shared`: if the ranks are varied, they divide the
    work of a step (`Scaling.share`) as in a scaling study. `compare` names a metric to compare cells by, instead of
    their speed; more is better. `seeds` gives each repeat its own seed. `summary`: settings for an executive summary.
    `seconds` is the estimated time of a run, for the message about grids that are too large.
    """
    scaling = scaling_of(workload)
    metric = compare.strip()
    if metric and not _METRIC.fullmatch(metric):
        raise BadInput(f"compare is {metric[:60]!r}; it should be the name of a metric, such as held_out_accuracy.")
    repeats = between("repeats", repeats, 1, REPEATS)
    values = axes_of.read_axes(axes, workload)
    if seeds:
        _check_seeds(workload, values)
    _only(f"summary: {workload.name}", summary, tuple(workload.params.model_fields))
    shared = shared and "ranks" in values and bool(scaling.share)
    values_set = {**scaling.strong, **params} if shared else dict(params)
    base = _base(workload, values, values_set)
    where = placement.as_json()
    chosen = read_sampler(sampler)
    cells: list[Cell] = []
    if not chosen:
        total = axes_of.count(values)
        if total > MOST:
            raise BadInput(_too_many(values, total, repeats, seconds))
        cells = [axes_of.cell(point, workload, base, where, shared) for point in axes_of.points(values)]
        _some_can_be(cells)
    varied_params = {name.removeprefix(axes_of.PARAM) for name in axes_of.params_at(dict.fromkeys(values))}
    settings = {
        "axes": values,
        "params": {name: value for name, value in base.items() if name not in varied_params},
        "placement": {name: value for name, value in where.items() if name not in values},
        "rate": metric or scaling.rate,
        "unit": metric.replace("_", " ") if metric not in ("", scaling.rate) else scaling.unit,
        "repeats": repeats,
        "best": read_best(best),
        "sampler": chosen,
        "shared": shared,
        "title": title.strip(),
        **({"seeds": True} if seeds else {}),
        **({"summary": list(summary)} if summary else {}),
    }
    return Plan(KIND, workload.name, settings, tuple(cells), repeats)


def _check_seeds(workload: Workload, axes: Mapping[str, Any]) -> None:
    """Raises BadInput if repeats can't have different seeds."""
    if SEED not in workload.params.model_fields:
        raise BadInput(f"{workload.name} has no seed, so its repeats can't have one each; leave seeds out.")
    if SEED in axes:
        raise BadInput("seed is varied already, so repeats can't have one each; leave out one of the two.")


def options(repeats: int = 1, weak: bool = False) -> dict[str, Any]:
    """The options of `plan` from those of a command, a page or a notebook: the best two cells are repeated."""
    return {"repeats": repeats, "best": {}, "shared": not weak}


def plan_here(
    store: Store,
    session: SessionRecord | None,
    workload: Workload,
    axes: Mapping[str, Any],
    params: Mapping[str, Any],
    placement: Placement,
    options: Mapping[str, Any],
) -> Plan:
    """A study for a session (None: a private one). Raises BadInput, also for files that can't be read."""
    if both := next((name for name in params if name in axes), None):
        raise BadInput(f"{both} is both set and varied; leave one out.")
    planned = plan(workload, axes, params, placement, seconds=seconds_each(store, workload.name, {})[0], **options)
    some = some_cell(planned, workload)
    if workload.inputs:
        workload.inputs(workload.check(some.params), client.artifacts_of(store))
    return check_placements(planned, lambda place: client.placement_in(session, place.as_json()))


def check_placements(study: Plan, check: Callable[[Placement], object], seconds: float = CHECK_SECONDS) -> Plan:
    """The same study. Cells whose placement `check` refuses get the reason. Raises BadInput with that reason if no cell
    is left, or if the only placement of a sampler is refused."""
    only = not study.cells and not any(axis in axes_of.PLACING for axis in study.settings["axes"])
    if only and (why := _answer(check, Placement.parse(study.placement))):
        raise BadInput(why)
    until = time.monotonic() + seconds
    answers: dict[str, str] = {}
    cells = []
    for cell in study.cells:
        key = repr(sorted(cell.placement.items(), key=str))
        if not cell.why and key not in answers and time.monotonic() < until:
            answers[key] = _answer(check, Placement.parse(cell.placement))
        cells.append(replace(cell, why=cell.why or answers.get(key, "")))
    _some_can_be(cells)
    return replace(study, cells=tuple(cells))


def some_cell(study: Plan, workload: Workload) -> Cell:
    """The first cell that can be run. Raises BadInput with the reason of the first cell where none can be run."""
    first: Cell | None = None
    over = (study.params, study.placement, study.settings["shared"])
    points = axes_of.points(study.settings["axes"])
    candidates = study.cells or (axes_of.cell(point, workload, *over) for point in points)
    for cell in itertools.islice(candidates, TRIED):
        if not cell.why:
            return cell
        first = first or cell
    assert first is not None, "every axis has a value"
    raise BadInput(f"No cell can be run: {first.label}: {first.why}")


def repeat_count(best: Mapping[str, int] | None, repeats: int, cells: int) -> int:
    """How many runs repeating the best cells takes, if they stay the best."""
    return min(best["cells"], cells) * max(best["repeats"] - repeats, 0) if best else 0


def _answer(check: Callable[[Placement], object], placement: Placement) -> str:
    try:
        check(placement)
    except BadInput as error:
        return " ".join(str(error).split())
    except WorkshopError:  # no answer in time: the run itself will show it
        return ""
    return ""


def _some_can_be(cells: Sequence[Cell]) -> None:
    if cells and all(cell.why for cell in cells):
        each = f"None of the {len(cells)} cells can be run" if len(cells) > 1 else "The only cell can't be run"
        raise BadInput(f"{each}: {cells[0].label}: {cells[0].why}")


def _base(workload: Workload, axes: Mapping[str, Sequence[Any]], values_set: Mapping[str, Any]) -> dict[str, Any]:
    """All params, with the first combination of varied values that is valid. Raises BadInput if none is."""
    first: BadInput | None = None
    for point in itertools.islice(axes_of.points(axes), TRIED):
        try:
            return workload.check({**values_set, **axes_of.params_at(point)}).model_dump(mode="json")
        except BadInput as error:
            first = first or error
    assert first is not None, "every axis has a value"
    raise first


def _too_many(axes: Mapping[str, Sequence[Any]], total: int, repeats: int, seconds: float) -> str:
    shape = " × ".join(str(len(values)) for values in axes.values())
    each = "" if repeats == 1 else f", {repeats} runs each"
    return (
        f"The grid has {total:,} cells ({shape}{each}), which would take about "
        f"{words.long(total * repeats * seconds)} at {words.seconds(seconds)} a run; vary less, up to {MOST} cells, or "
        "have a sampler choose in a study's file (sampler: {name: tpe, trials: 50})."
    )


class GridOptions(Params):
    """Settings of a grid."""

    vary: dict[str, str] = Field(
        {"ranks": "1,2"}, description="ranks, threads, … of the placement, env.NAME, or a setting of the workload"
    )
    weak: bool = Field(False, description="each rank has the whole batch, instead of its part, where ranks are varied")
    repeats: int = Field(1, ge=1, le=REPEATS, description="interleaved runs of each combination")


def _plan(form: StudyRequest) -> Plan:
    axes = vary_words([f"{name}={values}" for name, values in form.options.vary.items()])
    chosen = options(form.options.repeats, form.options.weak)
    return plan_here(form.store, form.session, form.workload, axes, form.params, form.placement, chosen)


def _start(workload: Workload, options: GridOptions) -> Mapping[str, Any]:
    scaling = scaling_of(workload)
    return scaling.strong if scaling.share and "ranks" in options.vary and not options.weak else {}


FORM = StudyForm(
    "Grid: all combinations of some values",
    GridOptions,
    _plan,
    takes=lambda workload: workload.scaling is not None,
    start=_start,
    placement=(*PLACING, "environment"),
    order=200,
)
