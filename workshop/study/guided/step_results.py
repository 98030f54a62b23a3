"""The results of the steps of a guided study: each step's cells with their results, and what is known of a step. Pure.

A cell that another step has already run isn't run again: a trial counts for every cell with the same params and the
same placement. Only the last step measures all its cells itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from workshop.core import words
from workshop.extension import load
from workshop.report.analysis.findings import finite
from workshop.report.rules import holding, with_sentences
from workshop.report.training.time_use import as_long_run
from workshop.store.records import RunRecord, Trial
from workshop.study import results
from workshop.study.guided.cells import cells, key
from workshop.study.guided.guide import Guide, Step
from workshop.study.guided.plan import Setting
from workshop.study.kinds import Sofar
from workshop.study.results import CellResult
from workshop.study.trials import RESULTS, Cell, impossible, status

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
    `pruned`, `lacking` (reasons). With a measured cell: `order` (names, the fastest of the repeated ones first; in the
    last step the last stage), `best`, `at` (its point), `speed`. With two: `worst`, `gain` (times), `shown` (a
    `results.Comparison`) of best and worst (the slowest with enough repeats), `ties` (those that may be as fast as the
    best).
    """
    step, cells = findings.guide.step(step_key), findings.results(step_key)
    usual, known = results.noise(cells), results.enough(cells)
    order = [*known, *(cell for cell in results.ranked(cells) if cell not in known)]
    if step.anew:  # by stage, unless the start itself has failed
        order = [cell for cell in reversed(cells) if cell.rates] if cells[0].rates else []
    named: dict[str, Any] = {
        "cores": findings.setting.cores,
        "quick": findings.setting.quick,
        "chance": f"repeats of one setting differ by {words.percent(usual)}",
        "failures": findings.failures(step_key),
        "cells": len(cells),
        "done": findings.done(step_key),
        "pruned": [name(cell) for cell in cells if cell.status == "pruned"],
        "lacking": [cell.why for cell in cells if cell.status == "failed" and cell.why],
        "means": step.means,
        "order": [name(cell) for cell in order],
    }
    if order:
        named |= {"best": name(order[0]), "at": order[0].point, "speed": findings.speed(order[0])}
    if len(order) > 1:
        best, worst = order[0], (known[1:] or order[1:])[-1] if not step.anew else order[-1]
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
