"""The results of the steps of a guided study: each step's cells with their results. Pure.

A cell that another step has already run isn't run again: a trial counts for every cell with the same params and the
same placement. Only the last step measures all its cells itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean
from typing import Any, Literal

from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes longer to import

from workshop.core import words
from workshop.report.training.time_use import as_long_run
from workshop.store.records import RunRecord, Trial
from workshop.study import results
from workshop.study.guided.guide import Guide
from workshop.study.guided.plan import Setting, key
from workshop.study.kinds import Sofar
from workshop.study.results import CellResult
from workshop.study.trials import Cell, impossible, status

USUAL = 0.025  # standard deviation of rates' logarithms on a machine with a desktop on it
WEIGHT = 4  # degrees of freedom that this counts for
SAME = 0.1  # share: cells that are shown to differ by less are as fast as each other
DOUBT = 0.05  # that any of the comparisons of a step is called a difference and is none


Comparison = Literal["apart", "alike", "unsure"]


@dataclass(frozen=True)
class Chance:
    """How repeats of one cell scatter."""

    deviation: float  # standard deviation of the logarithm of a rate
    freedom: int  # degrees of freedom with which that is known

    @property
    def usual(self) -> float:
        """By which share two repeats of one cell differ, on average."""
        return self.deviation * 2 / math.sqrt(math.pi)

    def differ(self, rates: Sequence[float], other: Sequence[float], among: int = 2) -> bool:
        """Whether two cells with these rates differ. They may be the best and the worst of `among` cells, which is the
        result of as many comparisons as there are pairs (Bonferroni)."""
        difference, uncertainty = self._difference(rates, other, among)
        return difference > uncertainty

    def agree(self, rates: Sequence[float], other: Sequence[float]) -> bool:
        """Whether the repeats show that two cells differ by less than `SAME`. Two cells that don't differ beyond chance
        are not alike for that: with few repeats nothing is shown. If the best and the worst are alike, all are; so this
        needs no correction for many cells."""
        difference, uncertainty = self._difference(rates, other, 2)
        return difference + uncertainty < math.log1p(SAME)

    def _difference(self, rates: Sequence[float], other: Sequence[float], among: int) -> tuple[float, float]:
        """The difference of the logarithms of two cells' rates, and its uncertainty; infinite without rates."""
        if not rates or not other:
            return 0.0, math.inf
        pairs = max(among * (among - 1) // 2, 1)
        error = self.deviation * math.sqrt(1 / len(rates) + 1 / len(other))
        difference = abs(mean(map(math.log, rates)) - mean(map(math.log, other)))
        return difference, float(stdtrit(self.freedom, 1 - DOUBT / (2 * pairs))) * error


def chance(cells: Iterable[Sequence[float]]) -> Chance:
    """The scatter of all repeats, from each cell's rates.

    A quick study has two repeats of each cell; their ranges often differ by chance. So the scatter is estimated from
    all repeats together, as standard deviation of the logarithms of rates. The usual scatter of such a machine counts
    as a few further repeats (a moderated t-statistic: Smyth, Linear models and empirical Bayes methods for assessing
    differential expression, Statistical Applications in Genetics and Molecular Biology 3(1), 2004).
    """
    squares, freedom = WEIGHT * USUAL**2, WEIGHT
    for rates in cells:
        if len(rates) > 1:
            logarithms = [math.log(rate) for rate in rates]
            middle = mean(logarithms)
            squares += sum((value - middle) ** 2 for value in logarithms)
            freedom += len(rates) - 1
    return Chance(math.sqrt(squares / freedom), freedom)


OVERALL = "overall_per_second"  # metric: work per second, training and evaluation together
LONGEST = 120  # characters of a reason


class StepResults:
    """Results of the steps, in the order in which steps build on each other."""

    def __init__(self, setting: Setting, trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> None:
        self.setting = setting
        self.guide = setting.guide
        self.trials = trials
        self.runs = {number: with_overall(run, setting.rate) for number, run in runs.items()}
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
                for cell in self.guide.cells(self, self.guide.step(step_key))
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
        return all(cell.status in ("completed", "failed", "pruned") for cell in self.results(step_key))

    def begun(self, step_key: str) -> bool:
        """Whether a step has results beyond the cells that it shares with other steps."""
        return self.done(step_key) or any(status(trial, self.runs) != "waiting" for trial in self.own_trials(step_key))

    @cached_property
    def chance(self) -> Chance:
        """How repeats of one cell scatter, over all steps."""
        measured = {
            key(cell.params, cell.placement): cell_result.rates
            for step_key in self.guide.keys
            if step_key != self.guide.anew
            for cell, cell_result in zip(self.cells(step_key), self.results(step_key), strict=True)
        }
        return chance(measured.values())

    def at(self, step_key: str, **point: Any) -> CellResult | None:
        """The measured cell of a step at that point."""
        rated = (cell for cell in self.results(step_key) if cell.rates)
        return next((cell for cell in rated if point.items() <= cell.point.items()), None)

    def best(self, step_key: str, among: Callable[[CellResult], bool] = lambda _: True) -> CellResult | None:
        """The fastest cell of a step."""
        return results.best([cell for cell in self.results(step_key) if among(cell)])

    def differ(self, first: CellResult | None, other: CellResult | None) -> bool:
        """Whether two cells of a step differ by more than chance. They may be its fastest and its slowest cell."""
        return self.compare(first, other) == "apart"

    def compare(self, first: CellResult | None, other: CellResult | None) -> Comparison:
        """Whether two cells of a step are shown to differ, or to be as fast as each other; else the repeats are too few
        to tell. They may be its fastest and its slowest cell."""
        if first is None or other is None:
            return "unsure"
        step_key = first.point.get("step", "")
        among = 2 if step_key == self.guide.anew else sum(bool(cell.rates) for cell in self.results(step_key))
        if self.chance.differ(first.rates, other.rates, max(among, 2)):
            return "apart"
        return "alike" if self.chance.agree(first.rates, other.rates) else "unsure"

    def beats(self, cell: CellResult | None, other: CellResult | None) -> bool:
        """Whether one cell is faster than another beyond chance."""
        return self.differ(cell, other) and gain(cell, other) > 1

    def ties(self, step_key: str) -> list[CellResult]:
        """The cells that may be as fast as the best, the best first."""
        first = self.best(step_key)
        return [
            cell for cell in results.ranked(self.results(step_key)) if cell is first or not self.differ(first, cell)
        ]

    def run(self, cell: CellResult | None) -> RunRecord | None:
        """The run to look at for a cell."""
        return self.runs.get(cell.run or 0) if cell is not None else None

    def measured(self, step_key: str) -> list[tuple[CellResult, RunRecord]]:
        """The cells of a step that have a run to look at, with that run."""
        return [(cell, run) for cell in self.results(step_key) if (run := self.run(cell)) is not None]

    def first_rate(self, step_key: str, cell: Cell) -> float | None:
        """The rate of the first completed trial of a cell."""
        for trial in self.trials_of(step_key, cell):
            if status(trial, self.runs) == "completed":
                return results.rate_of(self.runs[trial.run_id or 0], self.rate(step_key))
        return None

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


def name(cell: CellResult) -> str:
    """A cell's label without its step."""
    return cell.label.partition(": ")[2]


def gain(cell: CellResult | None, other: CellResult | None) -> float:
    """The speed of one cell divided by that of the other; 0 if one of the two was not measured."""
    ratio = results.ratio(cell, other) if cell is not None and other is not None else None
    return ratio.value if ratio else 0.0


def with_overall(run: RunRecord, rate: str) -> RunRecord:
    """The run with a further metric: its rate over training and evaluation. `rate` counts only training."""
    seconds = as_long_run(run)
    value = results.rate_of(run, rate)
    if value is None or not seconds:
        return run
    share = seconds["train"] / sum(seconds.values())
    return replace(run, metrics={**run.metrics, OVERALL: value * share})
