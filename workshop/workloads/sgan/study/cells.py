"""The cells of a step: the grid over what it varies, given what the steps before it have found. Pure.

All ranks share the batch of a step of training, so that every number of ranks does the same work; but for the step
on evaluation, in which each rank brings a batch of its own, as nodes do in the article.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workshop.core.placement import Placement
from workshop.study.guided.grid import crowded, points
from workshop.study.guided.placements import naive, place, with_variables
from workshop.study.guided.steps import Step
from workshop.study.settings import VARIABLE
from workshop.study.trials import Cell
from workshop.workloads.sgan.study.results import evaluation_seconds
from workshop.workloads.sgan.study.settings import AS_FOUND, with_set

if TYPE_CHECKING:
    from workshop.study.guided.step_results import StepResults

BEFORE, AFTER = "before", "after"
# Before stands for the article's fault: to evaluate as often as one rank's images say, however many ranks there are,
# and on rank 0 alone.
EVALUATION: Mapping[str, Mapping[str, str]] = {
    BEFORE: {"evaluate_unit": "images", "evaluate_by": "rank0"},
    AFTER: {"evaluate_unit": "iterations", "evaluate_by": "all"},
}
EVALUATED = 100  # held-out images where evaluation isn't what is looked at


def cells(found: StepResults, one: Step) -> list[Cell]:
    """What a step runs, without its own name."""
    if one.anew:
        return stages(found)
    return [_cell(found, one, point) for point in points(found, one) if not crowded(found, point)]


def base(found: StepResults, ranks: int = 1, **more: Any) -> dict[str, Any]:
    """Params of a trial whose ranks share the batch, and that evaluates at its end only."""
    params = found.setting.params
    return {
        **params,
        "batch": params["batch"] // ranks,
        "evaluate_every": params["iterations"],
        "evaluate_images": EVALUATED,
        "trace": 0,
        **more,
    }


def _cell(found: StepResults, one: Step, point: Mapping[str, Any]) -> Cell:
    """The cell at a point: each of its axes sets something of the params or of the placement."""
    setting, label = found.setting, one.label.format(*map(one.name, point.values()))
    where = spread_out(found) if one.spread else place(1, setting.cores, setting.cores)
    params, why = dict(one.params), ""
    if one.iterations:
        params["iterations"] = one.iterations[setting.name]
    for axis, value in point.items():
        if axis.startswith(VARIABLE):
            where = with_variables(where, {axis.removeprefix(VARIABLE): str(value)})
        elif axis == "cores" and value == 1:
            where = naive(setting.cores)
        elif axis == "ranks":
            where = place(value, point.get("threads", max(setting.cores // value, 1)), setting.cores)
        elif axis == "settings":
            where = with_set(where, value)
        elif axis == "mpi":
            where = where.model_copy(update={"mpi": value})
            why = "" if value in setting.mpis else one.lacking.format(name=label, mpi=value)
        elif axis == "evaluation":
            params |= EVALUATION[value]
        elif axis == "inference":
            params[axis] = value
    if one.own_batch:
        params |= _own_batch(found, where.ranks)
    return Cell(label, base(found, where.ranks, **params), where.as_json(), dict(point), why)


def _own_batch(found: StepResults, ranks: int) -> dict[str, int]:
    """A batch for each rank, and as many iterations as have all ranks together read as many images."""
    params, most = found.setting.params, max(found.setting.values["few_ranks"])
    iterations = max(params["iterations"], 15) * 3 // 2
    return {"batch": max(params["batch"] // most, 1), "iterations": max(iterations * most // ranks, 1)}


def later(found: StepResults, one: Step) -> list[Mapping[str, Any]]:
    """The stage of ranks x threads, which the last step has where the step before it finds a gain."""
    if one.anew and not found.begun("d") and "d" in found.setting.steps:
        return [spread_out(found).as_json()]
    return []


def spread_out(found: StepResults) -> Placement:
    """The fastest placement with two ranks or more: settings of MPIs matter to ranks that exchange something."""
    one = found.best("d", lambda one: one.placement["ranks"] > 1)
    if one is not None:
        return Placement.parse(one.placement)
    cores = found.setting.cores
    ranks = max(ranks for ranks in found.setting.ranks if ranks <= max(cores, 2))
    return place(ranks, max(cores // ranks, 1), cores)


def stages(found: StepResults) -> list[Cell]:
    """What each step gave, one on top of the other, from the naive start on. What made no difference beyond chance
    isn't taken along."""
    cores, step = found.setting.cores, found.setting.guide.step
    where, how = naive(cores), {**step("h").params, **EVALUATION[BEFORE]}
    made: list[Cell] = []

    def add(key: str, name: str, placement: Placement, **changed: Any) -> None:
        nonlocal where, how
        if not made or placement != where or any(how.get(param) != value for param, value in changed.items()):
            where, how = placement, {**how, **changed}
            point = {"stage": name, "gave": key}
            made.append(Cell(name, base(found, where.ranks, **how), where.as_json(), point))

    add("", step("a").name(1), where)
    if cores > 1:
        add("a", step("a").name(cores), place(1, cores, cores))
    now = found.at("a", cores=cores)
    threads = found.best("c")
    if threads is not None and found.beats(threads, now):
        add("c", "thread pools", Placement.parse(threads.placement))
        now = threads
    best = found.best("d")
    if best is not None and (now is None or found.beats(best, now)):
        add("d", "ranks x threads", Placement.parse(best.placement))
    if where.ranks > 1:
        named = found.best("f")
        if named is not None and found.beats(named, found.at("f", settings=AS_FOUND)):
            add("f", "settings", Placement.parse(named.placement))
        other = found.best("g")
        if other is not None and other.point["mpi"] != "openmpi" and found.beats(other, named or best):
            add("g", step("g").name(other.point["mpi"]), Placement.parse(other.placement), exchange="mpi")
    costs = {one.point["inference"]: seconds for one, seconds in evaluation_seconds(found)}
    add("e", "inference", where, inference=min(costs, key=lambda name: costs[name], default="compiled"))
    add("h", "evaluation", where, **EVALUATION[AFTER])
    return made
