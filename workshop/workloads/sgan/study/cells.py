"""The cells of a step: the grid of its axes, given the results of the steps before it. Pure.

All ranks share the batch of a training step, so every number of ranks does the same work. Only in the step on
evaluation each rank has its own batch, like the nodes in the article.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workshop.core.placement import POLLING, Placement
from workshop.mpi import horovod
from workshop.report.training.time_use import as_long_run
from workshop.store.records import RunRecord
from workshop.study.guided.guide import Step
from workshop.study.guided.plan import crowded, naive, place, points, with_variables
from workshop.study.results import CellResult
from workshop.study.settings import VARIABLE
from workshop.study.trials import Cell

if TYPE_CHECKING:
    from workshop.study.guided.step_results import StepResults

AS_FOUND, INTEL, BINDING = "as found", "KMP_*, I_MPI_*", "other binding"
HOROVOD = ("short cycle", "no fusion")  # sets that only Horovod reads
# Sets of settings. The article's table isn't in its text, so we chose these; one set has the article's three variables.
_SETS: Mapping[str, Mapping[str, str]] = {
    INTEL: {"KMP_BLOCKTIME": "1", "KMP_AFFINITY": "granularity=fine,compact,1,0", "I_MPI_PIN_DOMAIN": "core"},
    "polling": {POLLING: "0"},
    HOROVOD[0]: {"HOROVOD_CYCLE_TIME": "0.1"},
    HOROVOD[1]: {"HOROVOD_FUSION_THRESHOLD": "0"},
}


def with_set(placement: Placement, name: str) -> Placement:
    """The placement with one of the sets of settings."""
    if name == BINDING:
        return placement.model_copy(update={"bind_to": "core" if placement.bind_to == "none" else "none"})
    return with_variables(placement, _SETS.get(name, {}))


def evaluation_seconds(compared: StepResults) -> list[tuple[CellResult, float]]:
    """The time of one evaluation for each way of inference."""
    seconds_by_cell = []
    for cell, run in compared.measured("e"):
        seconds, count = as_long_run(run), run.metrics.get("evaluations")
        if seconds and isinstance(count, int) and count > 0 and seconds["evaluate"]:
            seconds_by_cell.append((cell, seconds["evaluate"] / count))
    return seconds_by_cell


def evaluation_shares(compared: StepResults) -> dict[tuple[str, int], float]:
    """The share of evaluation in the time of training and evaluation, by before or after and number of ranks."""
    times = {(cell.point["evaluation"], cell.point["ranks"]): as_long_run(run) for cell, run in compared.measured("h")}
    return {at: seconds["evaluate"] / sum(seconds.values()) for at, seconds in times.items() if seconds}


@dataclass(frozen=True)
class ThreadCount:
    """All threads of one kind in a run's first rank."""

    kind: str
    count: int
    busy: int  # of which worked
    seconds: float  # of processors


def threads_of(run: RunRecord) -> list[ThreadCount]:
    """The threads of a run's first rank by kind, the most numerous first; empty if the run has no such metric."""
    census: Any = run.metrics.get("threads")
    if not isinstance(census, list) or not census or not isinstance(census[0], dict):
        return []
    kinds = [
        ThreadCount(kind, int(figures.get("count", 0)), int(figures.get("busy", 0)), float(figures.get("seconds", 0.0)))
        for kind, figures in census[0].items()
        if isinstance(figures, dict)
    ]
    return sorted((kind for kind in kinds if kind.count), key=lambda kind: (-kind.count, kind.kind))


BEFORE, AFTER = "before", "after"
# Before stands for the article's fault: to evaluate as often as one rank's images say, however many ranks there are,
# and on rank 0 alone.
EVALUATION: Mapping[str, Mapping[str, str]] = {
    BEFORE: {"evaluate_unit": "images", "evaluate_by": "rank0"},
    AFTER: {"evaluate_unit": "iterations", "evaluate_by": "all"},
}
EVALUATED = 100  # held-out images in steps that don't examine evaluation


def cells(findings: StepResults, step: Step) -> list[Cell]:
    """The cells of a step, labelled without the step's name."""
    if step.anew:
        return stages(findings)
    return [_cell(findings, step, point) for point in points(findings, step) if not crowded(findings, point)]


def base(findings: StepResults, ranks: int = 1, **more: Any) -> dict[str, Any]:
    """Params of a trial whose ranks share the batch, and that evaluates only at its end."""
    params = findings.setting.params
    return {
        **params,
        "batch": params["batch"] // ranks,
        "evaluate_every": params["iterations"],
        "evaluate_images": EVALUATED,
        "trace": 0,
        **more,
    }


def _cell(findings: StepResults, step: Step, point: Mapping[str, Any]) -> Cell:
    """The cell at a point. Each axis sets a param or a field of the placement."""
    setting, label = findings.setting, step.label.format(*map(step.name, point.values()))
    where = spread_out(findings) if step.spread else place(1, setting.cores, setting.cores)
    params, why = dict(step.params), ""
    if step.length:
        params["iterations"] = step.length[setting.name]
    for axis, value in point.items():
        if axis.startswith(VARIABLE):
            where = with_variables(where, {axis.removeprefix(VARIABLE): str(value)})
        elif axis == "cores" and value == 1:
            where = naive(setting.cores)
        elif axis == "ranks":
            where = place(value, point.get("threads", max(setting.cores // value, 1)), setting.cores)
        elif axis == "settings":
            where = with_set(where, value)
            if horovod.built():
                params["exchange"] = "horovod"  # the only one that reads two of the sets
        elif axis == "mpi":
            where = where.model_copy(update={"mpi": value})
            why = "" if value in setting.mpis else step.lacking.format(name=label, mpi=value)
        elif axis == "evaluation":
            params |= EVALUATION[value]
        elif axis == "inference":
            params[axis] = value
    if step.own_batch:
        params |= _own_batch(findings, where.ranks)
    return Cell(label, base(findings, where.ranks, **params), where.as_json(), dict(point), why)


def _own_batch(findings: StepResults, ranks: int) -> dict[str, int]:
    """A batch for each rank, and the number of iterations with which all ranks together read the same number of
    images."""
    params, most = findings.setting.params, max(findings.setting.values["few_ranks"])
    iterations = max(params["iterations"], 15) * 3 // 2
    return {"batch": max(params["batch"] // most, 1), "iterations": max(iterations * most // ranks, 1)}


def later(findings: StepResults, step: Step) -> list[Mapping[str, Any]]:
    """The stage of ranks x threads, which the last step has if the step before it finds a gain."""
    if step.anew and not findings.begun("d") and "d" in findings.setting.steps:
        return [spread_out(findings).as_json()]
    return []


def spread_out(findings: StepResults) -> Placement:
    """The fastest placement with at least two ranks, because settings of MPIs affect only ranks that exchange data."""
    cell = findings.best("d", lambda cell: cell.placement["ranks"] > 1)
    if cell is not None:
        return Placement.parse(cell.placement)
    cores = findings.setting.cores
    ranks = max(ranks for ranks in findings.setting.ranks if ranks <= max(cores, 2))
    return place(ranks, max(cores // ranks, 1), cores)


def stages(findings: StepResults) -> list[Cell]:
    """The improvements of all steps, one on top of the other, from the naive start on, without those that made no
    difference beyond chance."""
    cores, step = findings.setting.cores, findings.setting.guide.step
    where, how = naive(cores), {**step("h").params, **EVALUATION[BEFORE]}
    stage_cells: list[Cell] = []

    def add(key: str, name: str, placement: Placement, **changed: Any) -> None:
        nonlocal where, how
        if not stage_cells or placement != where or any(how.get(param) != value for param, value in changed.items()):
            where, how = placement, {**how, **changed}
            point = {"stage": name, "gave": key}
            stage_cells.append(Cell(name, base(findings, where.ranks, **how), where.as_json(), point))

    add("", step("a").name(1), where)
    if cores > 1:
        add("a", step("a").name(cores), place(1, cores, cores))
    now = findings.at("a", cores=cores)
    threads = findings.best("c")
    if threads is not None and findings.beats(threads, now):
        add("c", "thread pools", Placement.parse(threads.placement))
        now = threads
    best = findings.best("d")
    if best is not None and (now is None or findings.beats(best, now)):
        add("d", "ranks x threads", Placement.parse(best.placement))
    if where.ranks > 1:
        named = findings.best("f")
        if named is not None and findings.beats(named, findings.at("f", settings=AS_FOUND)):
            way = {"exchange": "horovod"} if named.point["settings"] in HOROVOD else {}
            add("f", "settings", Placement.parse(named.placement), **way)
        other = findings.best("g")
        if other is not None and other.point["mpi"] != "openmpi" and findings.beats(other, named or best):
            add("g", step("g").name(other.point["mpi"]), Placement.parse(other.placement), exchange="mpi")
    costs = {cell.point["inference"]: seconds for cell, seconds in evaluation_seconds(findings)}
    add("e", "inference", where, inference=min(costs, key=lambda name: costs[name], default="compiled"))
    add("h", "evaluation", where, **EVALUATION[AFTER])
    return stage_cells
