"""The cells of a step: the grid of its axes, given the results of the steps before it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from workshop.core.placement import Host, Placement
from workshop.extension import load
from workshop.mpi import horovod
from workshop.registry import workload
from workshop.study.grid.plan import scaling_of
from workshop.study.guided.guide import Step
from workshop.study.settings import VARIABLE
from workshop.study.trials import Cell
from workshop.study.tune.plan import tuning_of

if TYPE_CHECKING:
    from workshop.study.guided.plan import Setting
    from workshop.study.guided.step_results import StepResults


def naive(cores: int) -> Placement:
    """The naive start: `mpirun -n 1` of a program that starts a thread for each core. mpirun binds the rank to one
    core, which all these threads share."""
    return Placement(ranks=1, map_by="core", bind_to="core", threads=cores)


def place(ranks: int, threads: int, cores: int) -> Placement:
    """Ranks with a core for each thread if there are enough cores, else unbound on all cores."""
    if ranks * threads <= cores:
        return Placement(ranks=ranks, cores_per_rank=threads, threads=threads)
    return Placement(ranks=ranks, threads=threads, bind_to="none", oversubscribe=ranks > cores)


def key(params: Mapping[str, Any], placement: Mapping[str, Any]) -> str:
    """A key that is equal for trials that do the same: params, and the placement with all variables of its ranks."""
    where = Placement.parse(placement)
    identity = where.as_json() | {"environment": where.rank_environment(), "threads": None}
    return json.dumps([dict(params), identity], sort_keys=True)


def cells(findings: StepResults, step: Step) -> list[Cell]:
    """The cells of a step, labelled without the step's name."""
    if step.anew:
        stages: list[Cell] = load(findings.guide.stages)(findings)
        return stages
    return [_cell(findings, step, point) for point in points(findings, step) if not crowded(findings, point)]


def points(findings: StepResults, step: Step) -> Iterator[dict[str, Any]]:
    """All points of a step's grid."""
    named = findings.setting.values
    for values in product(*(named[values] if isinstance(values, str) else values for values in step.vary.values())):
        yield dict(zip(step.vary, values, strict=True))


def crowded(findings: StepResults, point: Mapping[str, Any]) -> bool:
    """Whether the quick setting leaves a point out, because it has more than two threads for a core."""
    return findings.setting.quick and point.get("ranks", 0) * point.get("threads", 0) > 2 * findings.setting.cores


def base(setting: Setting, ranks: int = 1, **more: Any) -> dict[str, Any]:
    """Params of a trial whose ranks share the work."""
    named = {**setting.params, "cores": setting.cores}
    usual = {
        name: named.get(value, value) if isinstance(value, str) else value
        for name, value in setting.guide.params.items()
    }
    share = scaling_of(workload(setting.workload)).share
    return {**setting.params, share: setting.params[share] // ranks, **usual, **more}


def spread_out(findings: StepResults, step_key: str) -> Placement:
    """The fastest placement of a step with at least two ranks, or one with as many ranks as cores where it has none."""
    cell = findings.best(step_key, lambda cell: cell.placement["ranks"] > 1)
    if cell is not None:
        return Placement.parse(cell.placement)
    cores = findings.setting.cores
    ranks = max(ranks for ranks in findings.setting.values["ranks"] if ranks <= max(cores, 2))
    return place(ranks, max(cores // ranks, 1), cores)


def _cell(findings: StepResults, step: Step, point: Mapping[str, Any]) -> Cell:
    setting, label = findings.setting, step.label.format(*map(step.name, point.values()))
    params, why, cores = dict(step.params), "", setting.cores
    if step.length:
        params[tuning_of(workload(setting.workload)).length] = step.length[setting.name]
    if step.horovod and horovod.built():
        params |= step.horovod
    where = spread_out(findings, step.best_of) if step.best_of else place(1, cores, cores)
    if setting.hosts:  # with a slot each
        hosts = tuple(Host(name=host) for host in setting.hosts[: point.get("hosts", 1)])
        ranks = point.get("ranks", len(hosts))
        crowd = ranks > len(hosts)
        where = Placement(ranks=ranks, hosts=hosts, map_by="node", bind_to="none", threads=1, oversubscribe=crowd)
    elif "ranks" in point:
        where = place(point["ranks"], point.get("threads", max(cores // point["ranks"], 1)), cores)
    elif point.get("cores") == 1:
        where = naive(cores)
    changes: dict[str, Any] = {}
    for axis, value in point.items():
        changes |= step.changes.get(str(value), {axis: value})
    for name, value in changes.items():
        if name.startswith(VARIABLE):
            environment = {**where.environment, name.removeprefix(VARIABLE): str(value)}
            where = where.model_copy(update={"environment": dict(sorted(environment.items()))})
        elif name == "mpi":
            where = where.model_copy(update={"mpi": value})
            if value not in setting.mpis:
                why = f"{label} isn't installed here; to have it beside the others: workshop mpi install {value}."
        elif name == "bind_to":  # the other one
            where = where.model_copy(update={"bind_to": "core" if where.bind_to == "none" else "none"})
        elif name not in ("cores", "hosts", "ranks", "threads"):
            params[name] = value
    if step.own_batch:
        params |= _own_batch(setting, where.ranks)
    return Cell(label, base(setting, where.ranks, **params), where.as_json(), dict(point), why)


def _own_batch(setting: Setting, ranks: int) -> dict[str, int]:
    """A batch for each rank, and the length with which all ranks together read the same number of images."""
    most, studied = max(setting.values["few_ranks"]), workload(setting.workload)
    share, length = scaling_of(studied).share, tuning_of(studied).length
    long = max(setting.params[length], 15) * 3 // 2
    return {share: max(setting.params[share] // most, 1), length: max(long * most // ranks, 1)}
