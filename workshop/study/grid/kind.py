"""Grid studies as a kind of study: their further trials and their report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.actions import run_command
from workshop.store.records import StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import results
from workshop.study.grid import axes as axes_of
from workshop.study.grid import plan
from workshop.study.grid.axes import propose
from workshop.study.grid.verdict import seed_by_seed, verdict
from workshop.study.kinds import Kind, Report, Sofar, read
from workshop.study.results import CellResult
from workshop.study.settings import VARIABLE
from workshop.study.trials import Cell, impossible, interleave, with_seeds


@dataclass(frozen=True)
class GridReport(Report):
    """A grid study and what it has found."""

    rows: list[CellResult]  # in the grid's order
    best: CellResult | None
    command: str  # that runs the best cell; may be empty

    @property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        axes: Mapping[str, Sequence[Any]] = self.study.description["axes"]
        return axes

    def findings(self) -> dict[str, Any]:
        return {
            **self.study.description,
            "rows": [row.as_json() for row in self.rows],
            "winner": self.best.as_json() if self.best else None,
            "command": self.command or None,
        }


def title(study: StudyRecord) -> str:
    """A grid study in a few words: its own title, or what is varied."""
    description = study.description
    names = [axis.removeprefix(VARIABLE).removeprefix(axes_of.PARAM) for axis in description["axes"]]
    return description["title"] or f"{study.workload} over {' × '.join(names)}"


def grid_report(store: Store, study: StudyRecord) -> GridReport:
    """The report on a grid study."""
    trials, runs = read(store, study.id)
    description = study.description
    cells = results.results(trials, runs, description["rate"])
    rows = sorted(  # in the grid's order
        cells,
        key=lambda row: [
            list(values).index(row.point[name]) if row.point.get(name) in values else -1
            for name, values in description["axes"].items()
        ],
    )
    best = results.best(rows)
    command = _command(study.workload, best) if best else ""
    texts = verdict(rows, description["unit"], study.finished_at is not None, command)
    if description.get("seeds"):
        texts = seed_by_seed(texts, rows, trials, runs, study, command)
    return GridReport(study, trials, runs, texts, rows, best, command)


def more(sofar: Sofar) -> list[Trial]:
    """The next cell of the sampler, then repeats of the best cells."""
    description = sofar.study.description
    cells = results.results(sofar.trials, sofar.runs, description["rate"])
    if description["sampler"] and len(cells) < description["sampler"]["trials"]:
        point = propose(
            description["axes"], description["sampler"], cells, lambda point: not _cell(sofar.study, point).why
        )
        if point is not None:
            first = max((trial.number for trial in sofar.trials), default=0) + 1
            return with_seeds(interleave([_cell(sofar.study, point)], description["repeats"], first), description)
    return with_seeds(best_again(sofar.trials, cells, description["best"], description["repeats"]), description)


def best_again(
    trials: Sequence[Trial], cells: Sequence[CellResult], best: Mapping[str, int] | None, repeats: int, first: int = 0
) -> list[Trial]:
    """Trials, numbered from `first`, that repeat each of the `best["cells"]` best cells, interleaved, until it has
    `best["repeats"]` runs; `best["slowest"]`: so many of the slowest, too.

    If a repeated cell falls behind, the next best cell is repeated, too, until twice as many cells have been repeated.
    This limit keeps the study finite on a noisy machine. Failed trials count as runs for the same reason.
    """
    if not best:
        return []
    tried = Counter(results.cell_key(trial.label, trial.point) for trial in trials)
    begun = {key for key, times in tried.items() if times > repeats}
    lacking: list[CellResult] = []
    ranked = results.ranked(cells)
    for cell in [*ranked[: best["cells"]], *ranked[best["cells"] :][-best.get("slowest", 0) or len(ranked) :]]:
        key = results.cell_key(cell.label, cell.point)
        if tried[key] >= best["repeats"]:
            continue
        if key in begun or len(begun) < 2 * best["cells"]:
            begun.add(key)
            lacking.append(cell)
    repeats_to_run: list[Trial] = []
    first = first or max((trial.number for trial in trials), default=0) + 1
    for already in sorted({tried[results.cell_key(cell.label, cell.point)] for cell in lacking}):
        equally_run = [cell for cell in lacking if tried[results.cell_key(cell.label, cell.point)] == already]
        rounds = best["repeats"] - already
        cells_to_run = [Cell(cell.label, cell.params, cell.placement, cell.point) for cell in equally_run]
        new_trials = interleave(cells_to_run, rounds, repeat=already + 1)
        repeats_to_run += [
            replace(trial, number=first + len(repeats_to_run) + at) for at, trial in enumerate(new_trials)
        ]
    return repeats_to_run


def total(sofar: Sofar) -> int:
    """The number of trials if the best cells stay the best."""
    description = sofar.study.description
    rounds = [trial for trial in sofar.trials if trial.repeat <= description["repeats"]]
    cells = len(results.results((trial for trial in rounds if not impossible(trial)), sofar.runs, description["rate"]))
    to_come = 0
    if description["sampler"]:
        to_come = max(min(description["sampler"]["trials"], axes_of.count(description["axes"])) - cells, 0)
    planned_runs: int = len(rounds) + to_come * description["repeats"]
    return max(
        planned_runs + plan.repeat_count(description["best"], description["repeats"], cells + to_come),
        len(sofar.trials),
    )


def _cell(study: StudyRecord, point: Mapping[str, Any]) -> Cell:
    description = study.description
    return axes_of.cell(
        point, workload(study.workload), description["params"], description["placement"], description["shared"]
    )


def _command(name: str, cell: CellResult) -> str:
    try:
        return run_command(workload(name), cell.params, Placement.parse(cell.placement))
    except BadInput:  # the workload or one of its settings no longer exists
        return ""


KIND = Kind(plan.KIND, title, grid_report, more, total, cards="workshop.study.grid.cards:cards")
