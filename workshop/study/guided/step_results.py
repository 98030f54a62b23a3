"""The steps of a guided study: each step's cells, their results, and what is known of a step. Pure.

The cells are the grid of a step's axes, given the results of the steps before it. A cell that another step has already
run isn't run again: a trial counts for every cell with the same params and the same placement. Only the last step
measures all its cells itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from workshop.core import words
from workshop.core.placement import Host, Placement
from workshop.extension import load
from workshop.mpi import horovod
from workshop.registry import workload
from workshop.report.analysis.findings import finite
from workshop.report.rules import holding, with_sentences
from workshop.report.training.facts import as_long_run
from workshop.store.records import RunRecord, Trial
from workshop.study import results
from workshop.study.grid.axes import VARIABLE
from workshop.study.grid.plan import scaling_of
from workshop.study.guided.plan import Guide, Setting, Step
from workshop.study.kinds import Sofar
from workshop.study.results import CellResult
from workshop.study.trials import RESULTS, Cell, impossible, status
from workshop.study.tune.plan import tuning_of

if TYPE_CHECKING:
    from workshop.study.guided.plan import Setting

OVERALL = "overall_per_second"  # metric: work per second, training and evaluation together
LONGEST = 120  # characters of a reason


class StepResults:
    """Results of the steps, in the order in which steps build on each other. `events` returns the values of a run's
    events (`Guide.events`) on rank 0."""

    def __init__(
        self,
        setting: Setting,
        trials: Sequence[Trial],
        runs: Mapping[int, RunRecord],
        events: Callable[[int], Sequence[float]] = lambda run: (),
    ) -> None:
        self.setting = setting
        self.guide = setting.guide
        self.trials = trials
        self.runs = {number: with_overall(run, setting.rate) for number, run in runs.items()}
        self.events = events
        self._cells: dict[str, list[Cell]] = {}
        self._results: dict[str, list[CellResult]] = {}

    def rate(self, step_key: str) -> str:
        """The metric that a step compares."""
        return OVERALL if self.guide.step(step_key).overall else self.setting.rate

    def cells(self, step_key: str) -> list[Cell]:
        """The cells of a step, given the results so far."""
        if step_key not in self._cells:
            self._cells[step_key] = [
                replace(cell, point={"step": step_key, **cell.point}, label=f"{step_key}: {cell.label}")
                for cell in cells(self, self.guide.step(step_key))
            ]
        return self._cells[step_key]

    def results(self, step_key: str) -> list[CellResult]:
        """A result for each cell of a step, in their order; "waiting" for cells without runs."""
        if step_key not in self._results:
            self._results[step_key] = [self._result(step_key, cell) for cell in self.cells(step_key)]
        return self._results[step_key]

    def trials_of(self, step_key: str, cell: Cell) -> list[Trial]:
        """The trials of a cell, also those of other steps that do the same, in their order."""
        same = self._by_key.get(key(cell.params, cell.placement), [])
        matching = [
            trial for trial in same if (trial.point.get("step") == self.guide.anew) == (step_key == self.guide.anew)
        ]
        # What couldn't be run at first, for want of an MPI, may have become possible.
        return matching if cell.why else [trial for trial in matching if not impossible(trial)]

    def own_trials(self, step_key: str) -> list[Trial]:
        """The trials that a step has planned itself."""
        return [trial for trial in self.trials if trial.point.get("step") == step_key]

    def done(self, step_key: str) -> bool:
        """Whether a step has a result for each of its cells."""
        return all(cell.status in RESULTS for cell in self.results(step_key))

    def begun(self, step_key: str) -> bool:
        """Whether a step has results beyond the cells that it shares with other steps."""
        return self.done(step_key) or any(status(trial, self.runs) != "waiting" for trial in self.own_trials(step_key))

    def at(self, step_key: str, **point: Any) -> CellResult | None:
        """The measured cell of a step at that point."""
        rated = (cell for cell in self.results(step_key) if cell.rates)
        return next((cell for cell in rated if point.items() <= cell.point.items()), None)

    def best(self, step_key: str, among: Callable[[CellResult], bool] = lambda _: True) -> CellResult | None:
        """The fastest cell of a step, of those with enough repeats if there are any."""
        cells = [cell for cell in self.results(step_key) if among(cell)]
        return results.best(results.enough(cells) or cells)

    def beats(self, cell: CellResult | None, other: CellResult | None) -> bool:
        """Whether one cell is faster than another beyond chance."""
        return results.compare(cell, other) == "apart" and results.gain(cell, other) > 1

    def run(self, cell: CellResult | None) -> RunRecord | None:
        """The run to look at for a cell."""
        return self.runs.get(cell.run or 0) if cell is not None else None

    def measured(self, step_key: str) -> list[tuple[CellResult, RunRecord]]:
        """The cells of a step that have a run to look at, with that run."""
        return [(cell, run) for cell in self.results(step_key) if (run := self.run(cell)) is not None]

    def speed(self, cell: CellResult) -> str:
        """The rate of a cell in words."""
        return f"{words.quantity(cell.median or 0.0)} {self.setting.unit}"

    def failures(self, step_key: str) -> str:
        """The failed cells of a step and the first reason, as a sentence; empty if no cell failed."""
        failed = [cell for cell in self.results(step_key) if cell.status == "failed" and cell.why]
        if not failed:
            return ""
        why = failed[0].why  # which may be an MPI's whole page
        short = why if len(why) <= LONGEST else f"{why[:LONGEST].rsplit(' ', 1)[0]} …"
        return f"{words.listed(map(name, failed))} failed: {short}"

    @cached_property
    def _by_key(self) -> dict[str, list[Trial]]:
        grouped: dict[str, list[Trial]] = {}
        for trial in self.trials:
            grouped.setdefault(key(trial.params, trial.placement), []).append(trial)
        return grouped

    def _result(self, step_key: str, cell: Cell) -> CellResult:
        trials = [replace(trial, label=cell.label, point=dict(cell.point)) for trial in self.trials_of(step_key, cell)]
        if not trials:
            return CellResult(cell.label, cell.point, cell.params, cell.placement, (), (), "waiting", cell.why)
        return results.results(trials, self.runs, self.rate(step_key))[0]


def step_results(guide: Guide, sofar: Sofar) -> StepResults:
    """The results of a study's steps so far."""
    return StepResults(Setting.read(guide, sofar.study.description), sofar.trials, sofar.runs)


def facts(findings: StepResults, step_key: str) -> dict[str, Any]:
    """What is known of a step, by the names that its rules use.

    Always: `cores`, `quick`, `chance` and `failures` (sentences), `cells` (how many), `done`,
    `lacking` (reasons). With a measured cell: `order` (names, the fastest of the repeated ones first; in the
    last step the last stage), `best`, `at` (its point), `speed`. With two: `worst`, `gain` (times), `shown` (a
    `results.Comparison`) of best and worst (the slowest with enough repeats), `ties` (those that may be as fast as the
    best).
    """
    step, cells = findings.guide.step(step_key), findings.results(step_key)
    usual, comparable = results.noise(cells), results.enough(cells)
    order = [*comparable, *(cell for cell in results.ranked(cells) if cell not in comparable)]
    if step.anew:  # by stage, unless the start itself has failed
        order = [cell for cell in reversed(cells) if cell.rates] if cells[0].rates else []
    named: dict[str, Any] = {
        "cores": findings.setting.cores,
        "quick": findings.setting.quick,
        "chance": f"repeats of one setting differ by {words.percent(usual)}",
        "failures": findings.failures(step_key),
        "cells": len(cells),
        "done": findings.done(step_key),
        "lacking": [cell.why for cell in cells if cell.status == "failed" and cell.why],
        "means": step.means,
        "order": [name(cell) for cell in order],
    }
    if order:
        named |= {"best": name(order[0]), "at": order[0].point, "speed": findings.speed(order[0])}
    if len(order) > 1:
        best, worst = order[0], (comparable[1:] or order[1:])[-1] if not step.anew else order[-1]
        comparison, most = results.compare(best, worst), results.gain(best, worst)
        # If chance alone can make such a difference, the guess of no difference is right, too.
        margin = usual if comparison == "apart" or step.anew else most - 1
        ties = [name(cell) for cell in results.ties(order)[1:]]
        named |= {"worst": name(worst), "gain": most, "gain_margin": margin, "shown": comparison, "ties": ties}
    if findings.guide.facts:
        named |= load(findings.guide.facts)(findings, step, order)
    return with_sentences(step.sentences, finite(named))


def judge(step: Step, step_facts: Mapping[str, Any]) -> dict[str, str] | None:
    """The verdict of a step, why and next, given its facts; None if it hasn't measured enough."""
    for _, finding in holding(step.rules, step_facts):
        return {"verdict": finding.verdict, "why": finding.why, "next": finding.following}
    return None


def name(cell: CellResult) -> str:
    """A cell's label without its step."""
    return cell.label.partition(": ")[2]


def with_overall(run: RunRecord, rate: str) -> RunRecord:
    """The run with a further metric: its rate over training and evaluation. `rate` counts only training."""
    seconds = as_long_run(run)
    value = results.rate_of(run, rate)
    if value is None or not seconds:
        return run
    share = seconds["train"] / sum(seconds.values())
    return replace(run, metrics={**run.metrics, OVERALL: value * share})


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
