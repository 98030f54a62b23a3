"""One trial's run: waiting for its end, and ending it where it takes too long or can no longer win."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.registry import workload
from workshop.runtime import client
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.kinds import Sofar, Watched, expected, kind, read
from workshop.study.trials import missing, remaining

LIMIT = 30 * 60.0  # seconds that a trial may take, its ranks' start and others' measurements included
QUEUE = 2 * 3600.0  # seconds that it may wait for its turn before that
JUDGED = 0.5  # seconds between looks whether a run is hopeless
CANCELLED = 30.0  # seconds within which a run that was asked to end has ended


@dataclass(frozen=True)
class Progress:
    """How far a study is."""

    trial: Trial
    run: RunRecord
    done: int
    total: int
    seconds_left: float | None  # None: not known yet


Look = Callable[[Progress], None]


class TrialMonitor:
    """Waits for trials' runs, and ends those that take too long or can no longer win."""

    def __init__(self, store: Store, study: StudyRecord, on_look: Look, limit: float) -> None:
        self.store, self.study, self.on_look, self.limit = store, study, on_look, limit
        self.kind = kind(study.kind)
        self.rate = LiveRate(store)
        self._judged = 0.0

    def until_ended(self, trial: Trial, run: RunRecord) -> None:
        study_id = self.study.id
        trials, runs = read(self.store, study_id)
        sofar = Sofar(self.study, trials, runs)
        done = len(trials) - len(missing(trials, runs))
        total = expected(self.study, trials, runs)

        def look(now: RunRecord) -> None:
            left = remaining(trials, {**runs, now.id: now}, time.time(), total)
            self.on_look(Progress(trial, now, done, total, left))
            if now.status != "running":
                return
            if time.time() - (now.started_at or 0.0) > self.limit:
                words = f"It took longer than the {self.limit / 60:g} minutes that a trial may take."
                raise _EndedEarly(self.store.fail_trial, {"type": "TimeLimit", "message": words})
            if time.monotonic() - self._judged > JUDGED:
                self._judged = time.monotonic()
                watched = self.rate.look(now)
                if why := self.kind.hopeless(sofar, trial, watched):
                    told = {"why": why, "rate": watched.rate, "seconds": watched.seconds}
                    raise _EndedEarly(self.store.prune_trial, told)

        try:
            client.wait(self.store, run.id, look, timeout=QUEUE + self.limit)
        except _EndedEarly as early:
            end_run(self.store, run.id)
            if self.store.run(run.id).status != "completed":  # else it had by then, which counts
                early.note(study_id, trial.number, early.why)


class _EndedEarly(Exception):
    """A run takes longer than a trial may, or can no longer win: what notes that, and why."""

    def __init__(self, note: Callable[[int, int, dict[str, Any]], None], why: dict[str, Any]) -> None:
        super().__init__()
        self.note, self.why = note, why


def end_run(store: Store, run_id: int) -> None:
    """Cancel a run and wait until it has ended. Errors are ignored: the run may have ended by itself."""
    with suppress(WorkshopError):  # it may have ended just now, or its session is gone
        client.cancel(store, run_id)
        client.wait(store, run_id, timeout=CANCELLED)


class LiveRate:
    """How fast a trial's run is while it goes on: follows the live event of its workload (`Scaling.live`), reading only
    what is new."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._run = 0
        self._last = 0  # id of the newest event that was read
        self._rates: list[float] = []
        self._times: list[float] = []

    def look(self, run: RunRecord) -> Watched:
        """The run as it is now. Seconds are counted from the first rate that it told."""
        if run.id != self._run:
            self._run, self._last, self._rates, self._times = run.id, 0, [], []
        scaling = workload(run.workload).scaling
        if scaling is not None and scaling.live:
            for event in self.store.events(run.id, [scaling.live], rank=0, after=self._last):
                self._last = event.id
                self._rates.append(event.value)
                self._times.append(event.time)
        if not self._rates:
            return Watched(run, 0.0, None)
        return Watched(run, max(self._times) - min(self._times), median(self._rates))
