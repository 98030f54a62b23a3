"""What the steps of a guided study have found so far: each step's cells with their results. Pure.

A cell that another step has run already isn't run again: trials belong to whatever cell has the same params and the
same placement. Only the last step measures everything anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from workshop.core import words
from workshop.report.analysis.time_use import as_long_run
from workshop.store.records import RunRecord, Trial
from workshop.study import results
from workshop.study.guided.chance import Chance, chance
from workshop.study.guided.guide import Guide
from workshop.study.guided.placements import key
from workshop.study.guided.plan import Setting
from workshop.study.kinds import Sofar
from workshop.study.results import CellResult
from workshop.study.trials import Cell, impossible, status

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

    def rate(self, of: str) -> str:
        """The metric that a step compares."""
        return OVERALL if self.guide.step(of).overall else self.setting.rate

    def cells(self, of: str) -> list[Cell]:
        """What a step runs, given what is known now."""
        if of not in self._cells:
            self._cells[of] = [
                replace(cell, point={"step": of, **cell.point}, label=f"{of}: {cell.label}")
                for cell in self.guide.cells(self, self.guide.step(of))
            ]
        return self._cells[of]

    def results(self, of: str) -> list[CellResult]:
        """A result for each cell of a step, in their order; "waiting" for what nobody has run."""
        if of not in self._results:
            self._results[of] = [self._result(of, cell) for cell in self.cells(of)]
        return self._results[of]

    def trials_of(self, of: str, cell: Cell) -> list[Trial]:
        """The trials that a cell has, its own or those of a cell that does the same, in their order."""
        same = self._by_key.get(key(cell.params, cell.placement), [])
        found = [trial for trial in same if (trial.point.get("step") == self.guide.anew) == (of == self.guide.anew)]
        # What couldn't be run at first, for want of an MPI, may have become possible.
        return found if cell.why else [trial for trial in found if not impossible(trial)]

    def own(self, of: str) -> list[Trial]:
        """The trials that a step has asked for itself."""
        return [trial for trial in self.trials if trial.point.get("step") == of]

    def done(self, of: str) -> bool:
        """Whether a step has a result for each of its cells."""
        return all(one.status in ("completed", "failed", "pruned") for one in self.results(of))

    def begun(self, of: str) -> bool:
        """Whether a step has more than what others have run for it, of which it shares some cells."""
        return self.done(of) or any(status(trial, self.runs) != "waiting" for trial in self.own(of))

    @cached_property
    def chance(self) -> Chance:
        """How repeats of one cell scatter, over all steps."""
        measured = {
            key(cell.params, cell.placement): one.rates
            for of in self.guide.keys
            if of != self.guide.anew
            for cell, one in zip(self.cells(of), self.results(of), strict=True)
        }
        return chance(measured.values())

    def at(self, of: str, **point: Any) -> CellResult | None:
        """The measured cell of a step at that point."""
        rated = (one for one in self.results(of) if one.rates)
        return next((one for one in rated if point.items() <= one.point.items()), None)

    def best(self, of: str, among: Callable[[CellResult], bool] = lambda _: True) -> CellResult | None:
        """The fastest cell of a step."""
        return results.best([one for one in self.results(of) if among(one)])

    def apart(self, one: CellResult | None, other: CellResult | None) -> bool:
        """Whether two cells of a step differ by more than chance, being perhaps its fastest and its slowest."""
        if one is None or other is None:
            return False
        of = one.point.get("step", "")
        among = 2 if of == self.guide.anew else sum(bool(cell.rates) for cell in self.results(of))
        return self.chance.apart(one.rates, other.rates, max(among, 2))

    def beats(self, one: CellResult | None, other: CellResult | None) -> bool:
        """Whether one cell is faster than another beyond chance."""
        return self.apart(one, other) and gain(one, other) > 1

    def ties(self, of: str) -> list[CellResult]:
        """The cells that may be as fast as the best, the best first."""
        first = self.best(of)
        return [one for one in results.ranked(self.results(of)) if one is first or not self.apart(first, one)]

    def run(self, one: CellResult | None) -> RunRecord | None:
        """The run to look at for a cell."""
        return self.runs.get(one.run or 0) if one is not None else None

    def measured(self, of: str) -> list[tuple[CellResult, RunRecord]]:
        """The cells of a step that have a run to look at, with that run."""
        return [(one, run) for one in self.results(of) if (run := self.run(one)) is not None]

    def first_rate(self, of: str, cell: Cell) -> float | None:
        """What the first trial of a cell that completed has measured."""
        for trial in self.trials_of(of, cell):
            if status(trial, self.runs) == "completed":
                return results.rate_of(self.runs[trial.run_id or 0], self.rate(of))
        return None

    def failures(self, of: str) -> str:
        """Which of a step's cells failed, and why the first did, as a sentence; empty where none has."""
        failed = [one for one in self.results(of) if one.status == "failed" and one.why]
        if not failed:
            return ""
        why = failed[0].why  # which may be an MPI's whole page
        short = why if len(why) <= LONGEST else f"{why[:LONGEST].rsplit(' ', 1)[0]} …"
        return f"{words.listed(map(name, failed))} failed: {short}"

    @cached_property
    def _by_key(self) -> dict[str, list[Trial]]:
        found: dict[str, list[Trial]] = {}
        for trial in self.trials:
            found.setdefault(key(trial.params, trial.placement), []).append(trial)
        return found

    def _result(self, of: str, cell: Cell) -> CellResult:
        mine = [replace(trial, label=cell.label, point=cell.point) for trial in self.trials_of(of, cell)]
        if not mine:
            return CellResult(cell.label, cell.point, cell.params, cell.placement, (), (), "waiting", cell.why)
        return results.results(mine, self.runs, self.rate(of))[0]


def step_results(guide: Guide, sofar: Sofar) -> StepResults:
    """What the steps of a study have found so far."""
    return StepResults(Setting.read(guide, sofar.study.description), sofar.trials, sofar.runs)


def name(one: CellResult) -> str:
    """A cell's label without its step."""
    return one.label.partition(": ")[2]


def gain(one: CellResult | None, other: CellResult | None) -> float:
    """How many times as fast one cell is as the other; 0 where one of them was not measured."""
    found = results.ratio(one, other) if one is not None and other is not None else None
    return found.value if found else 0.0


def with_overall(run: RunRecord, rate: str) -> RunRecord:
    """The run with one metric more: its rate over training and evaluation together. `rate` counts training alone."""
    seconds = as_long_run(run)
    told = results.rate_of(run, rate)
    if told is None or not seconds:
        return run
    share = seconds["train"] / sum(seconds.values())
    return replace(run, metrics={**run.metrics, OVERALL: told * share})
