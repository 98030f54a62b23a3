"""Trials of any study: their order, missing trials, and the time of the rest. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import median
from typing import Any, Literal, Protocol

from pydantic_core import to_jsonable_python

from workshop.report.activity import SEED, duration
from workshop.store.records import RunRecord, Trial

TrialStatus = Literal["waiting", "queued", "running", "completed", "failed", "pruned", "cancelled", "interrupted"]
RESULTS: frozenset[TrialStatus] = frozenset({"completed", "failed", "pruned"})  # final statuses
# Types of errors of runs that failed because of their session, not because of a rank.
AROUND = frozenset({"WorkshopError", "ControllerDied", "ConductorSilent", "SiteLost", "OperationalError"})
IMPOSSIBLE = "Impossible"  # type of the error of a trial that can't be run at all


@dataclass(frozen=True)
class Cell:
    """One point of a study's grid, to be run several times."""

    label: str
    params: Mapping[str, Any]
    placement: Mapping[str, Any]
    point: Mapping[str, Any] = field(default_factory=dict)  # axis -> value
    why: str = ""  # why it can't be run, in a sentence: its trials have failed before they begin


class Planned(Protocol):
    """A study that is planned but not stored."""

    @property
    def kind(self) -> str: ...

    @property
    def workload(self) -> str: ...

    def description(self) -> dict[str, Any]: ...

    def trials(self) -> Sequence[Trial]: ...


@dataclass(frozen=True)
class Plan:
    """A checked study that isn't stored yet. Plans with equal settings are the same study."""

    kind: str
    workload: str
    settings: dict[str, Any]  # its description in the store
    cells: tuple[Cell, ...] = ()  # none where they are chosen while the study goes on
    repeats: int = 1

    @property
    def params(self) -> Mapping[str, Any]:
        """The params that all trials share."""
        return dict(self.settings["params"])

    @property
    def placement(self) -> Mapping[str, Any]:
        return dict(self.settings["placement"])

    def description(self) -> dict[str, Any]:
        return {name: to_jsonable_python(value) for name, value in self.settings.items()}

    def trials(self) -> list[Trial]:
        """The rounds of all cells. Cells that can't be run are only in the first round."""
        first = interleave(self.cells, 1)
        able = [cell for cell in self.cells if not cell.why]
        rest = interleave(able[1:] + able[:1], self.repeats - 1, len(first) + 1, 2) if able else []
        return with_seeds([*first, *rest], self.settings)


def with_seeds(trials: Sequence[Trial], description: Mapping[str, Any]) -> list[Trial]:
    """The trials of a study, each round with the next seed if the description asks for seeds."""
    if description.get("seeds") is not True:
        return list(trials)
    first = description["params"][SEED]
    return [replace(trial, params={**trial.params, SEED: first + trial.repeat - 1}) for trial in trials]


def description(planned: Any, *without: str) -> dict[str, Any]:
    """The fields of a planned study as JSON for the store, except the fields in `without`. Studies with equal
    descriptions are the same study."""
    names = (planned_field.name for planned_field in fields(planned) if planned_field.name not in without)
    return {name: to_jsonable_python(getattr(planned, name)) for name in names}


def interleave(cells: Sequence[Cell], repeats: int, first: int = 1, repeat: int = 1) -> list[Trial]:
    """Each cell `repeats` times, in rounds with every cell once. Trials are numbered from `first`, rounds from
    `repeat`.

    Slow changes of a machine (its temperature, other users) then affect all cells equally. Each round begins with
    another cell, so that no cell is always first, or always after the same pause.
    """
    rounds = [
        [(cells[(begin + place) % len(cells)], begin + repeat) for place in range(len(cells))]
        for begin in range(repeats)
    ]
    ordered = [trial for round_trials in rounds for trial in round_trials]
    return [
        Trial(
            number,
            cell.label,
            dict(cell.params),
            dict(cell.placement),
            which,
            error={"type": IMPOSSIBLE, "message": cell.why} if cell.why else None,
            point=dict(cell.point),
        )
        for number, (cell, which) in enumerate(ordered, first)
    ]


def impossible(trial: Trial) -> bool:
    """Whether this trial can never be run, so that another try is useless."""
    return trial.error is not None and trial.error["type"] == IMPOSSIBLE


def blameless(trial: Trial, runs: Mapping[int, RunRecord]) -> bool:
    """Whether a trial failed because of its environment, so that another try may succeed."""
    run = runs.get(trial.run_id or 0)
    error = run.error if run is not None and run.status == "failed" and trial.error is None else None
    return error is not None and error.get("rank") is None and error.get("type") in AROUND


def status(trial: Trial, runs: Mapping[int, RunRecord]) -> TrialStatus:
    """The status of a trial; `runs` are the study's runs by id."""
    if trial.error is not None:
        return "failed"
    if trial.pruned is not None:
        return "pruned"
    if trial.run_id is None or trial.run_id not in runs:
        return "waiting"
    return runs[trial.run_id].status


def missing(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The trials without a result, also those in progress."""
    return [trial for trial in trials if status(trial, runs) not in RESULTS]


def remaining(trials: Sequence[Trial], runs: Mapping[int, RunRecord], total: int | None = None) -> float | None:
    """The estimated seconds of the runs that a study of `total` trials (None: its present ones) still needs, with the
    whole time of runs in progress; None if unknown.

    A trial takes the median time of its cell's completed trials, or of all completed trials.
    """
    past: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        run = runs.get(trial.run_id or 0)
        if run is not None and run.status == "completed" and (seconds := duration(run)) is not None:
            past[trial.label].append(seconds)
    if not past:
        return None
    usual = {label: median(group) for label, group in past.items()}
    fallback = median(each for group in past.values() for each in group)
    further = max((total or 0) - len(trials), 0)
    return sum(usual.get(trial.label, fallback) for trial in missing(trials, runs)) + fallback * further
