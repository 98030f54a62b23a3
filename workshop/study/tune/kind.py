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
from workshop.study.grid.axes import params_at
from workshop.study.kinds import Kind, Report, Sofar, Watched, read
from workshop.study.results import CellResult, Ratio, best, noise, ranked, ratio, results, ties
from workshop.study.tune.search import more, spent, split, total
from workshop.study.tune.study import NAME, TuneStudy, key, placed


@dataclass(frozen=True)
class TuneReport(Report):
    """A tuning study and its results."""

    tune_study: TuneStudy
    cells: Sequence[CellResult]  # one for each placement that was tried, in that order

    @cached_property
    def noise(self) -> float:
        return noise(self.cells)

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
        return pick(self.cells, self.naive)

    @cached_property
    def gain(self) -> Ratio | None:
        """How many times as fast the best placement is as the naive start."""
        return ratio(self.best, self.naive, self.noise) if self.best is not None and self.naive is not None else None

    @cached_property
    def possible(self) -> int:
        """The number of possible placements."""
        return len(self.tune_study.points())

    @cached_property
    def spent(self) -> float:
        """Seconds of runs."""
        return spent(self.trials, self.runs)

    def _at(self, point: Mapping[str, Any]) -> CellResult | None:
        return next((cell for cell in self.cells if key(cell.point) == key(point)), None)

    @property
    def command(self) -> str | None:
        """The command that runs the workload on the best placement."""
        return self._commands[0]

    @property
    def mpirun(self) -> str | None:
        """The same with the MPI's own launcher, without a session; None if the launcher can't express the placement."""
        return self._commands[1]

    @cached_property
    def _commands(self) -> tuple[str | None, str | None]:
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
        gain = self.gain
        return {
            "unit": self.unit,
            "params": dict(self.tune_study.params),
            "budget": self.tune_study.budget,
            "seed": self.tune_study.seed,
            "spent": self.spent,
            "possible": self.possible,
            "left_out": dict(self.tune_study.left_out),
            "best": _cell_json(self.best),
            "naive": _cell_json(self.naive),
            "default": _cell_json(self.usual),
            "gain": None if gain is None else {"ratio": gain.value, "low": gain.low, "high": gain.high},
            "sure": gain is not None and gain.sure,
            "command": self.command,
            "mpirun": self.mpirun,
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


def pick(cells: Sequence[CellResult], naive: CellResult | None = None) -> CellResult | None:
    """The cell with the best median: among the repeated ones and the naive start, if any were repeated."""
    repeated = [cell for cell in cells if len(cell.rates) > 1 or cell is naive]
    order = ranked(repeated if any(len(cell.rates) > 1 for cell in repeated) else cells)
    return order[0] if order else None


def _cell_json(cell: CellResult | None) -> dict[str, Any] | None:
    return None if cell is None else cell.as_json() | {"placement": dict(cell.placement), "params": dict(cell.params)}


def _verdict(report: TuneReport) -> dict[str, str]:
    best, naive, usual, gain = report.best, report.naive, report.usual, report.gain
    cells, unit, finished = report.cells, report.unit, report.study.finished_at is not None
    following = "Look at its runs." if finished else "Let the study go on."
    if best is None or best.median is None:
        why = next((cell.why for cell in cells if cell.why), "No trial has completed.")
        return {"verdict": "Nothing could be measured yet.", "why": why, "next": following}
    if gain is None or naive is None:
        sentence = f"The best so far is {best.label}; the naive start was not measured."
    elif gain.value < 1 or best is naive:
        sentence = f"Nothing that was tried beats the naive start, {naive.label}."
    elif not gain.sure:
        sentence = f"{words.capital(best.label)} is no faster than the naive start beyond what chance makes."
    else:
        sentence = f"{words.capital(best.label)} is {gain.value:.2f} times as fast as the naive start."
    why = f"It does {_range(best, unit)}"
    if naive is not None and naive.rates and naive is not best:
        why += f", the naive start ({naive.label}) {_range(naive, unit)}"
    why += "."
    if gain is not None and best is not naive:
        why += (
            f" Between {gain.low:.2f} and {gain.high:.2f} times is what these repeats allow."
            if len(best.rates) > 1
            else " The best was measured once, so a lucky run may have decided; a larger budget measures it again."
        )
    if usual is best:
        why += " That is this machine's default placement."
    elif usual is not None and (over := ratio(best, usual, report.noise)) is not None:
        why += f" Over this machine's default placement ({usual.label}) it gains {words.percent(over.value - 1)}"
        why += "." if over.sure else ", which may be chance."
    tied = sum(cell is not best and cell is not naive for cell in ties(cells, report.noise))
    if tied:
        others = "another placement" if tied == 1 else f"{tied} other placements"
        why += f" As far as these runs tell, {others} may be as fast."
    if finished:
        pruned, failed = (sum(cell.status == status for cell in cells) for status in ("pruned", "failed"))
        were = f"{'was' if pruned == 1 else 'were'} ended early as hopeless"
        ended = words.listed(f"{number} {what}" for number, what in ((pruned, were), (failed, "failed")) if number)
        why += (
            f" {len(split(report.trials)[0])} of {report.possible} possible placements were tried in "
            f"{words.seconds(report.spent)} of runs{f'; {ended}' if ended else ''}."
        )
        following = "Use the command line below for runs of this kind on this machine."
    return {"verdict": sentence, "why": why, "next": following}


def _range(cell: CellResult, unit: str) -> str:
    rate_text = f"{words.quantity(cell.median or 0.0)} {unit}"
    if len(cell.rates) < 2:
        return f"{rate_text} (1 run)"
    return (
        f"{rate_text} ({len(cell.rates)} runs, {words.quantity(min(cell.rates))} to {words.quantity(max(cell.rates))})"
    )


# The repeats of a placement differ by up to a fifth on a machine that does other things as well. The live rate of a
# run leaves out the time between its steps, so it is rather too high. A trial below this share of the best rate can't
# win by luck.
HOPELESS = 0.7
JUDGED = 1.0  # seconds of measured steps before a trial may be pruned


def hopeless(sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    """The reason why a trial can no longer win; None while it can. The naive start is the reference, and the repeats at
    the end decide the verdict, so neither is ended early."""
    description = sofar.study.description
    if trial.repeat > 1 or key(trial.point) == key(description["naive"]):
        return None
    if watched.rate is None or watched.seconds < JUDGED:
        return None
    leader = best(results(sofar.trials, sofar.runs, description["rate"]))
    if leader is None or leader.median is None or watched.rate >= HOPELESS * leader.median:
        return None
    return (
        f"After {words.seconds(watched.seconds)} it did {words.quantity(watched.rate)} {description['unit']}, "
        f"{words.percent(watched.rate / leader.median)} of the best so far ({leader.label})."
    )


def title(study: StudyRecord) -> str:
    """A tuning study in a few words."""
    budget = study.description["budget"]
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
