"""Grid studies as a kind: which trials they want beyond the first ones, and what they have found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.command_line import run_command
from workshop.store.records import StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import results
from workshop.study.grid import axes as axes_of
from workshop.study.grid import plan
from workshop.study.grid.sampler import propose
from workshop.study.grid.seeds import seed_by_seed, with_seeds
from workshop.study.grid.verdict import verdict
from workshop.study.kinds import Kind, Sofar, read
from workshop.study.report import Report
from workshop.study.results import CellResult
from workshop.study.settings import VARIABLE
from workshop.study.trials import Cell, impossible, interleave


@dataclass(frozen=True)
class GridReport(Report):
    """A grid study and what it has found."""

    rows: list[CellResult]  # in the grid's order
    best: CellResult | None
    command: str  # that runs the best cell; empty where there is none

    @property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        return self.study.description["axes"]

    def findings(self) -> dict[str, Any]:
        return {
            **self.study.description,
            "rows": [row.as_json() for row in self.rows],
            "winner": self.best.as_json() if self.best else None,
            "command": self.command or None,
        }


def title(study: StudyRecord) -> str:
    """A grid study in a few words: its own title, or what is varied."""
    told = study.description
    return told["title"] or f"{study.workload} over {' x '.join(_plain(name) for name in told['axes'])}"


def grid_report(store: Store, study: StudyRecord) -> GridReport:
    """What a grid study has found so far."""
    trials, runs = read(store, study.id)
    told = study.description
    rows = sorted(results.results(trials, runs, told["rate"]), key=lambda row: _place(told["axes"], row.point))
    best = results.best(rows)
    command = _command(study.workload, best) if best else ""
    said = verdict(rows, told["unit"], study.finished_at is not None, command)
    if told.get("seeds"):
        said = seed_by_seed(said, rows, trials, runs, study, command)
    return GridReport(study, trials, runs, said, rows, best, command)


def more(sofar: Sofar) -> list[Trial]:
    """What its sampler wants to know next; then the best cells again."""
    told = sofar.study.description
    cells = results.results(sofar.trials, sofar.runs, told["rate"])
    if told["sampler"] and len(cells) < told["sampler"]["trials"]:
        point = propose(told["axes"], told["sampler"], cells, lambda point: not _cell(sofar.study, point).why)
        if point is not None:
            first = max((trial.number for trial in sofar.trials), default=0) + 1
            return with_seeds(interleave([_cell(sofar.study, point)], told["repeats"], first), told)
    return with_seeds(best_again(sofar.trials, cells, told["best"], told["repeats"]), told)


def best_again(
    trials: Sequence[Trial], cells: Sequence[CellResult], best: Mapping[str, int] | None, repeats: int
) -> list[Trial]:
    """Trials that have each of the `best["cells"]` best cells run `best["repeats"]` times in all, interleaved; none
    where they were.

    A cell that falls behind makes room for the next one, until twice as many have been repeated: on a noisy machine
    that could go on for ever. Failed trials count, so that a cell that fails now and then doesn't, either.
    """
    if not best:
        return []
    tried = Counter(results.cell_key(trial.label, trial.point) for trial in trials)
    begun = {key for key, times in tried.items() if times > repeats}
    lacking: list[CellResult] = []
    for cell in results.ranked(cells)[: best["cells"]]:
        key = results.cell_key(cell.label, cell.point)
        if tried[key] >= best["repeats"]:
            continue
        if key in begun or len(begun) < 2 * best["cells"]:
            begun.add(key)
            lacking.append(cell)
    wanted: list[Trial] = []
    first = max(trial.number for trial in trials) + 1 if trials else 1
    for already in sorted({tried[results.cell_key(cell.label, cell.point)] for cell in lacking}):
        alike = [cell for cell in lacking if tried[results.cell_key(cell.label, cell.point)] == already]
        rounds = best["repeats"] - already
        found = interleave([_as_cell(cell) for cell in alike], rounds, repeat=already + 1)
        wanted += [replace(trial, number=first + len(wanted) + at) for at, trial in enumerate(found)]
    return wanted


def _as_cell(result: CellResult) -> Cell:
    return Cell(result.label, result.params, result.placement, result.point)


def total(sofar: Sofar) -> int:
    """How many trials there will be if the best cells stay the best."""
    told = sofar.study.description
    rounds = [trial for trial in sofar.trials if trial.repeat <= told["repeats"]]
    cells = len(results.results((trial for trial in rounds if not impossible(trial)), sofar.runs, told["rate"]))
    to_come = 0
    if told["sampler"]:
        to_come = max(min(told["sampler"]["trials"], axes_of.count(told["axes"])) - cells, 0)
    known = len(rounds) + to_come * told["repeats"]
    return max(known + plan.again(told["best"], told["repeats"], cells + to_come), len(sofar.trials))


def _cell(study: StudyRecord, point: Mapping[str, Any]) -> Cell:
    told = study.description
    return axes_of.cell(point, workload(study.workload), told["params"], told["placement"], told["shared"])


def _command(name: str, cell: CellResult) -> str:
    try:
        return run_command(workload(name), cell.params, Placement.parse(cell.placement))
    except BadInput:  # the workload, or a setting of it, isn't there any more
        return ""


def _place(axes: Mapping[str, Sequence[Any]], point: Mapping[str, Any]) -> tuple[int, ...]:
    """Where a cell is in the grid's order."""
    return tuple(list(values).index(point[name]) if point.get(name) in values else -1 for name, values in axes.items())


def _plain(axis: str) -> str:
    return axis.removeprefix(VARIABLE).removeprefix(axes_of.PARAM)


KIND = Kind(plan.KIND, title, grid_report, more, total)
