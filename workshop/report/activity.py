"""The activity of a run that hasn't ended, and its remaining time: the same words on pages, in the terminal and in
notebooks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from workshop.core import words
from workshop.store.records import RunRecord

if TYPE_CHECKING:  # verdicts load this module without a store
    from workshop.store.store import Store

LOOKED = 200  # earlier runs that are looked at
COUNTED = 9  # of which so many, the newest, count
SEED = "seed"  # the param that differs between repeats with seeds
ENOUGH = 0.03  # share of the work after which viewers see the time left
LONG = 2.0  # times the usual seconds of such runs; a run that takes more takes longer than usual


class ActivityReader:
    """Says what runs are doing. The usual time of such runs is read once for each run."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._usual: tuple[int, float | None] = (0, None)  # the run, its usual seconds

    def words(self, run: RunRecord) -> str:
        """Say what a running run is doing; "" for any other."""
        if run.status != "running":
            return ""
        if self._usual[0] != run.id:
            usual = usual_time(self.store, run.workload, run.params, run.placement.get("ranks"), run.queued_at)
            self._usual = run.id, usual.seconds if usual is not None and usual.same_ranks else None
        return activity_words(run, self._usual[1], time.time())


def activity_words(run: RunRecord, usual: float | None, now: float) -> str:
    """Say what a run is doing, the time that it probably still takes, and whether it takes longer than the `usual`
    seconds of such runs."""
    parts = [(run.activity or {}).get("words", "starting")]
    if remaining := seconds_left(run, now):
        parts.append(f"about {words.long(remaining)} left")
    if usual is not None and run.started_at is not None and now - run.started_at > LONG * usual:
        parts.append(f"longer than usual: such runs take {words.seconds(usual)}")
    return words.capital(", ".join(parts))


def seconds_left(run: RunRecord, now: float) -> float | None:
    """The seconds until a run has done everything, from its progress so far; None where too little is measured yet."""
    since = run.activity or {}
    if run.progress is None or "done" not in since:
        return None
    done, total = run.progress
    measured = done - since["done"]
    return (now - since["at"]) / measured * max(total - done, 0.0) if measured > ENOUGH * total else None


@dataclass(frozen=True)
class Usual:
    """How long earlier runs took: the median of `runs` runs. `same_params` and `same_ranks` tell whether these had the
    params and the number of ranks in question."""

    seconds: float
    runs: int
    same_params: bool
    same_ranks: bool


def usual_time(
    store: Store, workload: str, params: Mapping[str, Any], ranks: int | None = None, before: float | None = None
) -> Usual | None:
    """The time of earlier runs of a workload with the start of their ranks, of those queued `before` a moment; None
    without any. If possible, only runs with these params, but for the seed, and on so many ranks count."""
    past = store.runs(workload=workload, status="completed", limit=LOOKED)
    earlier = [run for run in past if duration(run) is not None and (before is None or run.queued_at < before)]
    values = {name: value for name, value in params.items() if name != SEED}
    same_params = [run for run in earlier if all(run.params.get(name) == value for name, value in values.items())]
    same_ranks = [run for run in same_params if ranks in (None, run.placement.get("ranks"))]
    counted = (same_ranks or same_params or earlier)[:COUNTED]
    if not counted:
        return None
    usual = median(took for run in counted if (took := duration(run)) is not None)
    return Usual(usual, len(counted), bool(same_params), bool(same_ranks))


def duration(run: RunRecord) -> float | None:
    """The seconds that a run took; None while it hasn't ended, or where it never started."""
    if run.started_at is None or run.finished_at is None:
        return None
    return max(run.finished_at - run.started_at, 0.0)
