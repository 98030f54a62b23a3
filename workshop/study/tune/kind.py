"""Tuning as a kind of study: its report with the best placement and the sure gain over the naive start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.mpi import command_lines
from workshop.registry import workload
from workshop.report.actions import params_of, run_command
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import verdicts
from workshop.study.grid.axes import params_at
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import CellResult, compare, gain, ranked, results
from workshop.study.tune.search import hopeless, more, spent, split, total
from workshop.study.tune.study import NAME, TuneStudy, key, placed


@dataclass(frozen=True)
class TuneReport(Report):
    """A tuning study and its results."""

    tune_study: TuneStudy
    cells: Sequence[CellResult]  # one for each placement that was tried, in that order

    @cached_property
    def naive(self) -> CellResult | None:
        """The naive start."""
        return self._at(self.tune_study.naive)

    @cached_property
    def usual(self) -> CellResult | None:
        """The machine's default placement."""
        return self._at(self.tune_study.begin[0])

    @cached_property
    def best(self) -> CellResult | None:
        """The cell with the best median: among the repeated ones and the naive start, if any were repeated."""
        repeated = [cell for cell in self.cells if len(cell.rates) > 1]
        order = ranked([*repeated, *(cell for cell in self.cells if cell is self.naive)] if repeated else self.cells)
        return order[0] if order else None

    @cached_property
    def gain(self) -> dict[str, float] | None:
        """How many times as fast the best placement is as the naive start: by medians, and the least and the most that
        the repeats allow."""
        if not (self.best and self.naive and self.best.rates and self.naive.rates):
            return None
        low, high = min(self.best.rates) / max(self.naive.rates), max(self.best.rates) / min(self.naive.rates)
        return {"ratio": gain(self.best, self.naive), "low": low, "high": high}

    @property
    def sure(self) -> bool:
        """Whether the repeats show that the best placement and the naive start differ."""
        return compare(self.best, self.naive) == "apart"

    @cached_property
    def spent(self) -> float:
        """Seconds of runs."""
        return spent(self.trials, self.runs)

    def _at(self, point: Mapping[str, Any]) -> CellResult | None:
        return next((cell for cell in self.cells if key(cell.point) == key(point)), None)

    @cached_property
    def commands(self) -> tuple[str | None, str | None]:
        """The command that runs the workload on the best placement, and the same with the MPI's own launcher, without a
        session; None where there is no best, or the launcher can't express the placement."""
        if self.best is None:
            return None, None
        study, point = self.tune_study, self.best.point
        values = {**study.load, **params_at(point)}
        if study.share:
            values[study.share] = study.params[study.share] // point["ranks"]
        try:
            chosen, where = workload(study.workload), placed(point, study.placement)
            launcher_words = command_lines.words(where.mpi, where, study.cores)
            program = ["python", "-m", "workshop.engine", chosen.name, *params_of(chosen, values)]
            command = run_command(chosen, values, where)
        except BadInput:  # the workload isn't there any more
            return None, None
        if launcher_words is None:
            return command, None
        return command, " ".join(command_lines.quoted(word) for word in [*launcher_words, *program])

    def findings(self) -> dict[str, Any]:
        study = self.tune_study
        return {
            "unit": self.unit,
            "params": dict(study.params),
            "budget": study.budget,
            "seed": study.seed,
            "spent": self.spent,
            "possible": len(study.points()),
            "best": _cell_json(self.best),
            "naive": _cell_json(self.naive),
            "default": _cell_json(self.usual),
            "gain": self.gain,
            "sure": self.sure,
            "command": self.commands[0],
            "mpirun": self.commands[1],
            "rows": [cell.as_json() for cell in self.cells],
        }


def tune_report(store: Store, study: StudyRecord) -> TuneReport:
    """The report on a tuning study."""
    return reported(study, *read(store, study.id))


def reported(study: StudyRecord, trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> TuneReport:
    """The report from a study's trials and runs. Pure."""
    tune_study = TuneStudy.read(study)
    report = TuneReport(study, trials, runs, {}, tune_study, results(trials, runs, tune_study.rate))
    return replace(report, verdict=_verdict(report))


def _cell_json(cell: CellResult | None) -> dict[str, Any] | None:
    return None if cell is None else cell.as_json() | {"placement": dict(cell.placement), "params": dict(cell.params)}


def _verdict(report: TuneReport) -> dict[str, str]:
    finished, cells = report.study.finished_at is not None, report.cells
    became = {state: sum(cell.status == state for cell in cells) for state in ("pruned", "failed")}
    named = verdicts.facts(cells, report.unit, finished) | {
        "measured": None,  # a tuner goes on with a single cell
        "best": report.best,
        "naive": report.naive,
        "usual": report.usual,
        "differ": report.gain is not None and report.best is not report.naive,
        "sure": report.sure,
        "reason": next((cell.why for cell in cells if cell.why), ""),
        "tried": len(split(report.trials)[0]),
        "possible": len(report.tune_study.points()) if finished else 0,
        "spent": report.spent,
        "ended": [f"{number} {state}" for state, number in became.items() if number],
    }
    return verdicts.verdict(NAME, named | (report.gain or {}))


def title(study: StudyRecord) -> str:
    """A tuning study in a few words."""
    budget = study.description.get("budget")  # a study of an older version may have none
    return f"tuning of {study.workload}" + (f" in {words.seconds(budget)}" if budget else "")


KIND = Kind(
    NAME,
    title,
    tune_report,
    more,
    total,
    hopeless,
    cards="workshop.study.tune.cards:cards",
    elsewhere="`workshop tune`",
)
