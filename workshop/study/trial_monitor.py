"""Wait for a trial's run, and end it if it takes too long or can no longer win."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Any

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.registry import workload
from workshop.sessions import client
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.estimate import remaining_work
from workshop.study.kinds import Sofar, Watched, expected, kind, read
from workshop.study.results import best, results
from workshop.study.trials import missing

LIMIT = 30 * 60.0  # seconds that a trial may take, its ranks' start included
QUEUE = 2 * 3600.0  # seconds that it may wait for its turn before that, others' measurements not counted
JUDGED = 0.5  # seconds between looks whether a run is hopeless
CANCELLED = 30.0  # seconds within which a run that was asked to end has ended


@dataclass(frozen=True)
class Progress:
    """The progress of a study."""

    trial: Trial
    run: RunRecord
    done: int
    total: int
    seconds_left: float | None  # None: not known yet
    best: str = ""  # the best cell so far, in words
    waits: str = ""  # the sentence on who measures on the machine that the run waits for


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
        sofar = Sofar(self.study, *read(self.store, study_id))
        done = len(sofar.trials) - len(missing(sofar.trials, sofar.runs))
        total, ahead = expected(sofar), remaining_work(self.store, sofar)
        top, waits = leader(sofar), ""

        def say(sentence: str) -> None:
            nonlocal waits
            waits = sentence

        def look(now: RunRecord) -> None:
            for_whom = waits if now.status == "queued" else ""
            self.on_look(Progress(trial, now, done, total, ahead.after([now]), top, for_whom))
            if now.status != "running":
                return
            if time.time() - (now.started_at or 0.0) > self.limit:
                sentence = f"It took longer than the {self.limit / 60:g} minutes that a trial may take."
                raise _EndedEarly(self.store.fail_trial, {"type": "TimeLimit", "message": sentence})
            if time.monotonic() - self._judged > JUDGED:
                self._judged = time.monotonic()
                watched = self.rate.look(now)
                if why := self.kind.hopeless(sofar, trial, watched):
                    reason = {"why": why, "rate": watched.rate, "seconds": watched.seconds}
                    raise _EndedEarly(self.store.prune_trial, reason)

        try:
            client.wait(self.store, run.id, look, timeout=QUEUE + self.limit, say=say)
        except _EndedEarly as early:
            end_run(self.store, run.id)
            if self.store.run(run.id).status != "completed":  # else it had by then, which counts
                early.note(study_id, trial.number, early.why)


def leader(sofar: Sofar) -> str:
    """The best cell so far with its rate, in words; "" before there is one."""
    description = sofar.study.description
    top = best(results(sofar.trials, sofar.runs, description.get("rate", "")))
    if top is None:
        return ""
    return f"best so far: {words.quantity(top.median or 0.0)} {description.get('unit', '')}, {top.label}"


class _EndedEarly(Exception):
    """A run takes too long or can no longer win. `note` stores the reason `why`."""

    def __init__(self, note: Callable[[int, int, dict[str, Any]], None], why: dict[str, Any]) -> None:
        super().__init__()
        self.note, self.why = note, why


def end_run(store: Store, run_id: int) -> None:
    """Cancel a run and wait for its end. Errors are ignored: the run may have ended already."""
    with suppress(WorkshopError):  # it may have ended just now, or its session is gone
        client.cancel(store, run_id)
        client.wait(store, run_id, timeout=CANCELLED)


class LiveRate:
    """The speed of a trial's run in progress, from new values of the workload's live event (`Scaling.live`)."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._run = 0
        self._last = 0  # id of the newest event that was read
        self._rates: list[float] = []
        self._times: list[float] = []

    def look(self, run: RunRecord) -> Watched:
        """The run as it is now. Seconds are counted from its first rate."""
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
