"""Trials of any study: in which order they are run, what is missing, how long the rest will take. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import median
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from workshop.store.records import RunRecord, Trial

TrialStatus = Literal["waiting", "queued", "running", "completed", "failed", "pruned", "cancelled", "interrupted"]
RESULTS: frozenset[TrialStatus] = frozenset({"completed", "failed", "pruned"})  # what a study keeps
IMPOSSIBLE = "Impossible"  # type of the error of a trial that can't be run at all


@dataclass(frozen=True)
class Cell:
    """One point of a study's grid, to be run several times."""

    label: str
    params: Mapping[str, Any]
    placement: Mapping[str, Any]
    point: Mapping[str, Any] = field(default_factory=dict)  # axis -> value
    why: str = ""  # why it can't be run, in a sentence: its trials have failed before they begin


def description(planned: Any, *without: str) -> dict[str, Any]:
    """The fields of a planned study as JSON, which the store keeps; fields in `without` are left out. Studies with
    equal descriptions are the same study."""
    names = (one.name for one in fields(planned) if one.name not in without)
    return {name: to_jsonable_python(getattr(planned, name)) for name in names}


def interleave(cells: Sequence[Cell], repeats: int, first: int = 1, repeat: int = 1) -> list[Trial]:
    """Each cell `repeats` times, in rounds that hold every cell once; numbered from `first` on, rounds from `repeat`.

    Whatever changes slowly on a machine (its temperature, its other users) then meets all cells alike; and because
    each round begins with another cell, none is always first, or always behind the same pause.
    """
    rounds = [
        [(cells[(begin + place) % len(cells)], begin + repeat) for place in range(len(cells))]
        for begin in range(repeats)
    ]
    ordered = [trial for one in rounds for trial in one]
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
    """Whether it was known beforehand that this trial can't be run; to try it again is in vain."""
    return trial.error is not None and trial.error["type"] == IMPOSSIBLE


def status(trial: Trial, runs: Mapping[int, RunRecord]) -> TrialStatus:
    """What became of a trial; `runs` are the study's, by id."""
    if trial.error is not None:
        return "failed"
    if trial.pruned is not None:
        return "pruned"
    if trial.run_id is None or trial.run_id not in runs:
        return "waiting"
    return runs[trial.run_id].status


def missing(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The trials that have not led to a result yet, those that are under way among them."""
    return [trial for trial in trials if status(trial, runs) not in RESULTS]


def remaining(
    trials: Sequence[Trial], runs: Mapping[int, RunRecord], now: float, total: int | None = None
) -> float | None:
    """Seconds that a study of `total` trials (None: those it has) is likely to take from `now` (seconds since the
    epoch) on; None where nothing is known.

    A trial takes as long as the median of its cell's trials that have ended, from the queue to the end, or of all
    where its cell has none.
    """
    past: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        run = runs.get(trial.run_id or 0)
        if run is not None and run.status == "completed" and run.finished_at is not None:
            past[trial.label].append(run.finished_at - run.queued_at)
    if not past:
        return None
    usual = {label: median(seconds) for label, seconds in past.items()}
    fallback = median(seconds for told in past.values() for seconds in told)
    expected = 0.0
    for trial in missing(trials, runs):
        run = runs.get(trial.run_id or 0)
        spent = now - run.queued_at if run is not None and not run.ended else 0.0
        expected += max(usual.get(trial.label, fallback) - spent, 0.0)
    return expected + fallback * max((total or 0) - len(trials), 0)
