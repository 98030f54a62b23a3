"""What a tuning study has found so far: the best placement, and what it surely gains over the naive start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.mpi import command_lines
from workshop.registry import workload
from workshop.report.command_line import params_of, run_command
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.kinds import read
from workshop.study.report import Report
from workshop.study.results import CellResult, Ratio, noise, ranked, ratio, results, ties
from workshop.study.tune.costs import spent
from workshop.study.tune.search import split
from workshop.study.tune.space import chosen_params, key, placed
from workshop.study.tune.study import TuneStudy


@dataclass(frozen=True)
class TuneReport(Report):
    """A tuning study and what it has found."""

    asked: TuneStudy
    cells: Sequence[CellResult]  # one for each placement that was tried, in that order

    @cached_property
    def noise(self) -> float:
        return noise(self.cells)

    @cached_property
    def naive(self) -> CellResult | None:
        """The naive start."""
        return self._at(self.asked.naive)

    @cached_property
    def usual(self) -> CellResult | None:
        """The machine's default placement."""
        return self._at(self.asked.begin[0])

    @cached_property
    def best(self) -> CellResult | None:
        return pick(self.cells, self.naive)

    @cached_property
    def gain(self) -> Ratio | None:
        """How many times as fast the best placement is as the naive start."""
        return ratio(self.best, self.naive, self.noise) if self.best is not None and self.naive is not None else None

    @cached_property
    def possible(self) -> int:
        """How many placements there are to try."""
        return len(self.asked.points())

    @cached_property
    def spent(self) -> float:
        """Seconds of runs."""
        return spent(self.trials, self.runs)

    def _at(self, point: Mapping[str, Any]) -> CellResult | None:
        return next((cell for cell in self.cells if key(cell.point) == key(point)), None)

    @property
    def command(self) -> str | None:
        """The command that runs the workload on the best placement."""
        return self._line(_workshop)

    @property
    def mpirun(self) -> str | None:
        """The same with the MPI's own launcher, without a session."""
        return self._line(_launcher)

    def _line(self, line: Callable[[str, TuneStudy, Mapping[str, Any]], str | None]) -> str | None:
        if self.best is None:
            return None
        try:
            return line(self.study.workload, self.asked, self.best.point)
        except BadInput:  # the workload isn't there any more
            return None

    def findings(self) -> dict[str, Any]:
        gain = self.gain
        return {
            "unit": self.unit,
            "params": dict(self.asked.params),
            "budget": self.asked.budget,
            "seed": self.asked.seed,
            "spent": self.spent,
            "possible": self.possible,
            "left_out": dict(self.asked.left_out),
            "best": _told(self.best),
            "naive": _told(self.naive),
            "default": _told(self.usual),
            "gain": None if gain is None else {"ratio": gain.value, "low": gain.low, "high": gain.high},
            "sure": gain is not None and gain.sure,
            "command": self.command,
            "mpirun": self.mpirun,
            "rows": [cell.as_json() for cell in self.cells],
        }


def tune_report(store: Store, study: StudyRecord) -> TuneReport:
    """What a tuning study has found so far."""
    trials, runs = read(store, study.id)
    return reported(study, trials, runs)


def reported(study: StudyRecord, trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> TuneReport:
    """The report from a study's trials and runs. Pure."""
    asked = TuneStudy.read(study.description)
    found = TuneReport(study, trials, runs, {}, asked, results(trials, runs, asked.rate))
    return replace(found, verdict=_verdict(found))


def pick(cells: Sequence[CellResult], naive: CellResult | None = None) -> CellResult | None:
    """The best by its median: of those that were measured again and the naive start, where any were."""
    again = [cell for cell in cells if len(cell.rates) > 1 or cell is naive]
    order = ranked(again if any(len(cell.rates) > 1 for cell in again) else cells)
    return order[0] if order else None


def _told(cell: CellResult | None) -> dict[str, Any] | None:
    return None if cell is None else cell.as_json() | {"placement": dict(cell.placement), "params": dict(cell.params)}


def _verdict(report: TuneReport) -> dict[str, str]:
    found, naive, usual, gain = report.best, report.naive, report.usual, report.gain
    cells, unit, finished = report.cells, report.unit, report.study.finished_at is not None
    following = "Look at its runs." if finished else f"Go on with: workshop study resume {report.study.id}."
    if found is None or found.median is None:
        why = next((cell.why for cell in cells if cell.why), "No trial has completed.")
        return {"verdict": "Nothing could be measured yet.", "why": why, "next": following}
    if gain is None or naive is None:
        said = f"The best so far is {found.label}; the naive start was not measured."
    elif gain.value < 1 or found is naive:
        said = f"Nothing that was tried beats the naive start, {naive.label}."
    elif not gain.sure:
        said = f"{words.capital(found.label)} is no faster than the naive start beyond what chance makes."
    else:
        said = f"{words.capital(found.label)} is {gain.value:.2f} times as fast as the naive start."
    why = f"It does {_range(found, unit)}"
    if naive is not None and naive.rates and naive is not found:
        why += f", the naive start ({naive.label}) {_range(naive, unit)}"
    why += "."
    if gain is not None and found is not naive:
        why += (
            f" Between {gain.low:.2f} and {gain.high:.2f} times is what these repeats allow."
            if len(found.rates) > 1
            else " The best was measured once, so a lucky run may have decided; a larger budget measures it again."
        )
    if usual is found:
        why += " That is this machine's default placement."
    elif usual is not None and (over := ratio(found, usual, report.noise)) is not None:
        why += f" Over this machine's default placement ({usual.label}) it gains {words.percent(over.value - 1)}"
        why += "." if over.sure else ", which may be chance."
    alike = sum(cell is not found and cell is not naive for cell in ties(cells, report.noise))
    if alike:
        others = "another placement" if alike == 1 else f"{alike} other placements"
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
    return {"verdict": said, "why": why, "next": following}


def _range(cell: CellResult, unit: str) -> str:
    told = f"{words.rate(cell.median or 0.0)} {unit}"
    if len(cell.rates) < 2:
        return f"{told} (1 run)"
    return f"{told} ({len(cell.rates)} runs, {words.rate(min(cell.rates))} to {words.rate(max(cell.rates))})"


def _workshop(name: str, asked: TuneStudy, point: Mapping[str, Any]) -> str:
    """`workshop run …` on the placement at a point."""
    return run_command(workload(name), _params(asked, point), placed(point, asked.placement))


def _launcher(name: str, asked: TuneStudy, point: Mapping[str, Any]) -> str | None:
    """The launcher of the point's own MPI, with its own options and without a session; None where it has no words for
    the placement."""
    where = placed(point, asked.placement)
    said = command_lines.words(where.mpi, where, asked.cores)
    if said is None:
        return None
    program = ["python", "-m", "workshop.engine", name, *params_of(workload(name), _params(asked, point))]
    return " ".join(command_lines.quoted(word) for word in [*said, *program])


def _params(asked: TuneStudy, point: Mapping[str, Any]) -> dict[str, Any]:
    """The workload's params: what was asked for, each rank's share, and what was found."""
    values = {**asked.load, **chosen_params(point)}
    if asked.share:
        values[asked.share] = asked.params[asked.share] // point["ranks"]
    return values
