"""What the steps of a guided study have found so far: each step's cells with their results. Pure.

A cell that another step has run already isn't run again: trials belong to whatever cell has the same params and the
same placement. Only the last step measures everything anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from workshop.report.analysis.spent import as_long_run
from workshop.store.records import RunRecord, Trial
from workshop.study import results
from workshop.study.guided.chance import Chance, chance
from workshop.study.guided.places import key
from workshop.study.guided.plan import Setting
from workshop.study.results import CellResult
from workshop.study.trials import Cell, impossible, status

OVERALL = "overall_per_second"  # metric: images per second of training and evaluation together
ANEW = "i"  # the step whose trials are its own

Cells = Callable[["Found"], list[Cell]]


class Found:
    """Results of the steps, in the order in which steps build on each other. `cells` has each step's own cells."""

    def __init__(
        self,
        setting: Setting,
        trials: Sequence[Trial],
        runs: Mapping[int, RunRecord],
        cells: Mapping[str, Cells],
        overall: frozenset[str],
    ) -> None:
        self.setting = setting
        self.trials = trials
        self.runs = {number: with_overall(run, setting.rate) for number, run in runs.items()}
        self._cells, self._overall = cells, overall
        self._known: dict[str, list[Cell]] = {}
        self._results: dict[str, list[CellResult]] = {}

    def rate(self, step: str) -> str:
        """The metric that a step compares."""
        return OVERALL if step in self._overall else self.setting.rate

    def cells(self, step: str) -> list[Cell]:
        """What a step runs, given what is known now."""
        if step not in self._known:
            self._known[step] = [
                replace(cell, point={"step": step, **cell.point}, label=f"{step}: {cell.label}")
                for cell in self._cells[step](self)
            ]
        return self._known[step]

    def results(self, step: str) -> list[CellResult]:
        """A result for each cell of a step, in their order; "waiting" for what nobody has run."""
        if step not in self._results:
            self._results[step] = [self._result(step, cell) for cell in self.cells(step)]
        return self._results[step]

    def of(self, step: str, cell: Cell) -> list[Trial]:
        """The trials that a cell has, its own or those of a cell that does the same, in their order."""
        found = self._by_key.get(key(cell.params, cell.placement), [])
        if step == ANEW:
            found = [trial for trial in found if trial.point.get("step") == ANEW]
        else:
            found = [trial for trial in found if trial.point.get("step") != ANEW]
        # What couldn't be run at first, for want of an MPI, may have become possible.
        return found if cell.why else [trial for trial in found if not impossible(trial)]

    def done(self, step: str) -> bool:
        """Whether a step has a result for each of its cells."""
        return all(one.status in ("completed", "failed", "pruned") for one in self.results(step))

    def begun(self, step: str) -> bool:
        """Whether a step has more than what others have run for it, of which it shares some cells."""
        own = (trial for trial in self.trials if trial.point.get("step") == step)
        return self.done(step) or any(status(trial, self.runs) != "waiting" for trial in own)

    @cached_property
    def chance(self) -> Chance:
        """How repeats of one cell scatter, over all steps."""
        measured = {
            key(cell.params, cell.placement): one.rates
            for step in self._cells
            if step != ANEW
            for cell, one in zip(self.cells(step), self.results(step), strict=True)
        }
        return chance(measured.values())

    def best(self, step: str, among: Callable[[CellResult], bool] = lambda _: True) -> CellResult | None:
        """The fastest cell of a step."""
        return results.best([one for one in self.results(step) if among(one)])

    def apart(self, one: CellResult | None, other: CellResult | None) -> bool:
        """Whether two cells of a step differ by more than chance, being perhaps its fastest and its slowest."""
        if one is None or other is None:
            return False
        step = one.point.get("step", "")
        among = 2 if step == ANEW else sum(bool(cell.rates) for cell in self.results(step))
        return self.chance.apart(one.rates, other.rates, max(among, 2))

    def beats(self, one: CellResult | None, other: CellResult | None) -> bool:
        """Whether one cell is faster than another beyond chance."""
        if one is None or other is None:
            return False
        return self.apart(one, other) and (one.median or 0.0) > (other.median or 0.0)

    def ties(self, step: str) -> list[CellResult]:
        """The cells that may be as fast as the best, the best first."""
        first = self.best(step)
        return [one for one in results.ranked(self.results(step)) if one is first or not self.apart(first, one)]

    def run(self, one: CellResult | None) -> RunRecord | None:
        """The run to look at for a cell."""
        return self.runs.get(one.run or 0) if one is not None else None

    @cached_property
    def _by_key(self) -> dict[str, list[Trial]]:
        found: dict[str, list[Trial]] = {}
        for trial in self.trials:
            found.setdefault(key(trial.params, trial.placement), []).append(trial)
        return found

    def _result(self, step: str, cell: Cell) -> CellResult:
        mine = [replace(trial, label=cell.label, point=cell.point) for trial in self.of(step, cell)]
        if not mine:
            return CellResult(cell.label, cell.point, cell.params, cell.placement, (), (), "waiting", cell.why)
        return results.results(mine, self.runs, self.rate(step))[0]

    def first_rate(self, step: str, cell: Cell) -> float | None:
        """What the first trial of a cell that completed has measured."""
        for trial in self.of(step, cell):
            if status(trial, self.runs) == "completed":
                return results.rate_of(self.runs[trial.run_id or 0], self.rate(step))
        return None


def with_overall(run: RunRecord, rate: str) -> RunRecord:
    """The run with one metric more: its rate over training and evaluation together. `rate` counts training alone."""
    seconds = as_long_run(run)
    told = results.rate_of(run, rate)
    if told is None or not seconds:
        return run
    share = seconds["train"] / sum(seconds.values())
    return replace(run, metrics={**run.metrics, OVERALL: told * share})
