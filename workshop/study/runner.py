"""Run the missing trials of a study one after the other, as ordinary runs of a session. They are measured runs if the
kind compares their speed. A run that takes too long or can no longer win is ended.

The store writes a run and its trial together. So a study can be resumed after Ctrl-C, kill -9 or a power cut: ended
runs count, active runs are waited for, and the rest is run.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import median
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.registry import workload
from workshop.sessions import client
from workshop.store.records import Identity, RunRecord, SessionRecord, StudyRecord, Trial
from workshop.store.sessions import SILENT
from workshop.store.store import Store
from workshop.study.kinds import Kind, Sofar, Watched, expected, kind, read, remaining_work
from workshop.study.results import best, results
from workshop.study.trials import Planned, blameless, impossible, missing, status


def check_place(
    study_id: int, waiting: Sequence[Trial], runs: Iterable[RunRecord], session: SessionRecord | None
) -> None:
    """Refuse a session on other hosts than the study's (None: a private session on this machine).

    `waiting` are the missing trials, `runs` the study's runs. Trials that name hosts need these, and the session may
    have others, too. Trials that don't are run on all hosts of the session. Raises BadInput.
    """
    done = [run for run in runs if run.status == "completed"]
    hosts = _names(session.placement) if session is not None else []
    trial_hosts = next((names for trial in waiting if (names := _names(trial.placement))), [])
    begun = next((_names(run.placement) for run in done), None)
    if trial_hosts and not set(trial_hosts) <= set(hosts):
        needed = trial_hosts
    elif not trial_hosts and begun is not None and set(begun) != set(hosts):
        needed = begun
    else:
        return
    name = f"session {session.name}" if session is not None else "a private session"
    raise BadInput(
        f"Study {study_id} runs on {_listed(needed)}, but {name} is on {_listed(hosts)}, where its runs would not "
        f"compare; go on in a session on {_listed(needed)} (--session NAME)."
    )


def _names(placement: Mapping[str, Any]) -> list[str]:
    return [host["name"] for host in placement.get("hosts") or ()]


def _listed(hosts: Sequence[str]) -> str:
    return words.listed(hosts) if hosts else "this machine alone"


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


HEARTBEAT = 1.0  # seconds
REVIVED = 60.0  # seconds that a session gets to come back after its conductor has died


@contextmanager
def working_on(store: Store, study_id: int) -> Iterator[str]:
    """Reserve a study, and yield the name of the holder. Raises BadInput if another command runs the study.

    A holder that was killed sends no further heartbeat, so the next heartbeat is waited for.
    """
    runner = secrets.token_hex(8)
    first = heartbeat = store.take_study(study_id, runner)
    deadline = time.monotonic() + 2 * SILENT
    while heartbeat is not None:
        if heartbeat != first or time.monotonic() > deadline:
            raise BadInput(
                f"Study {study_id} is being run by another command; follow it with: workshop study show {study_id}"
            )
        time.sleep(0.2)
        heartbeat = store.take_study(study_id, runner)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT):
            with suppress(WorkshopError):  # a database that is busy for a moment
                if not store.keep_study(study_id, runner):
                    return

    heart = threading.Thread(target=beat, name=f"study {study_id}", daemon=True)
    heart.start()
    try:
        yield runner
    finally:
        ended.set()
        heart.join(SILENT)
        store.leave_study(study_id, runner)


def run_study(
    store: Store,
    study_id: int,
    runner: str,
    session: SessionRecord,
    on_look: Look = lambda _: None,
    limit: float = LIMIT,
    identity: Identity | None = None,
    on_end: Callable[[int], None] = lambda _: None,
) -> StudyRecord:
    """Run the missing trials of a study that the caller has reserved (`working_on`). Returns the study.

    `on_end` is called with the number of each trial that has ended or can't be run. `identity` is the owner of the
    runs: a learner's runs have to stay within the session's limits.

    A failed trial is kept, and the study goes on. A trial whose conductor died is tried again when the session is back.
    A KeyboardInterrupt cancels the study's runs and is raised again. Raises WorkshopError if the session is gone, or if
    another command has taken over the study.
    """
    tried: dict[int, int] = {}
    wait = TrialMonitor(store, store.study(study_id), on_look, limit)
    try:
        for trial in missing(*read(store, study_id)):
            if run := _unfinished_run(store, trial):
                wait.until_ended(trial, run)
                on_end(trial.number)
        while following := _next(store, study_id, tried) or _more(store, study_id, runner, wait.kind):
            tried[following.number] = tried.get(following.number, 0) + 1
            # Another command may have taken over, for instance while this computer slept.
            if not store.keep_study(study_id, runner):
                raise WorkshopError(f"Study {study_id} has been taken over by another command.")
            if run := _submit(store, study_id, following, session, wait.kind.measured, identity):
                wait.until_ended(following, run)
            on_end(following.number)
    except KeyboardInterrupt:
        for active_run in store.runs(study_id=study_id, limit=None):
            if not active_run.ended:
                end_run(store, active_run.id)
        raise
    finish(store, study_id, runner)
    return store.study(study_id)


def trials_to_run(store: Store, study_id: int) -> list[Trial]:
    """The trials that a study still has to run: the missing ones, or the next ones of its kind; none if complete."""
    study = store.study(study_id)
    trials, runs = read(store, study_id)
    return missing(trials, runs) or kind(study.kind).more(Sofar(study, trials, runs))


def finish(store: Store, study_id: int, runner: str) -> None:
    """Note that a study has all its trials, if it has."""
    trials, runs = read(store, study_id)
    if not missing(trials, runs):
        completed = any(status(trial, runs) == "completed" for trial in trials)
        store.finish_study(study_id, runner, "completed" if completed else "failed")


def begin(store: Store, planned: Planned, submitted_by: str = "") -> StudyRecord:
    """Store a study without running it."""
    return store.create_study(planned.kind, planned.workload, planned.description(), planned.trials(), submitted_by)


def same_studies(store: Store, planned: Planned, limit: int = 100) -> Iterator[StudyRecord]:
    """The studies with the same description that have not finished, the newest first."""
    description = planned.description()
    for study in store.studies([planned.kind], limit):
        if study.finished_at is None and study.workload == planned.workload and study.description == description:
            yield study


def renew_failed(store: Store, study_id: int, every: bool = True) -> int:
    """Have failed trials run again: those that failed through no fault of their own, or `every` one that is possible.
    Returns their number."""
    trials, runs = read(store, study_id)
    failed = [
        trial.number
        for trial in trials
        if status(trial, runs) == "failed" and not impossible(trial) and (every or blameless(trial, runs))
    ]
    if failed:
        store.renew_trials(study_id, failed)
    return len(failed)


def _next(store: Store, study_id: int, tried: Mapping[int, int]) -> Trial | None:
    """The first missing trial that may be tried: each once, and again after its conductor has died."""
    trials, runs = read(store, study_id)
    for trial in missing(trials, runs):
        extra = 1 if status(trial, runs) == "interrupted" else 0
        if tried.get(trial.number, 0) <= extra:
            return trial
    return None


def _submit(
    store: Store,
    study_id: int,
    trial: Trial,
    session: SessionRecord,
    measured: bool,
    identity: Identity | None,
) -> RunRecord | None:
    """Put a trial into the session's queue; returns None and stores the reason if it can't be run."""
    up = _wait_up(store, session)
    try:
        return client.submit(
            store,
            up,
            store.study(study_id).workload,
            trial.params,
            trial.placement,
            identity=identity,
            measured=measured,
            trial=(study_id, trial.number),
        )
    except BadInput as error:
        if not store.session(session.id).up:
            raise WorkshopError(str(error)) from None
        store.fail_trial(study_id, trial.number, {"type": "BadInput", "message": str(error)})
        return None


def _more(store: Store, study_id: int, runner: str, study_kind: Kind) -> Trial | None:
    """The first of the further trials of the study's kind; None if there are none, or if trials are still missing."""
    trials, runs = read(store, study_id)
    if missing(trials, runs):
        return None
    further = study_kind.more(Sofar(store.study(study_id), trials, runs))
    if not further:
        return None
    if not store.add_trials(study_id, runner, further):
        raise WorkshopError(f"Study {study_id} has been taken over by another command.")
    return further[0]


def _unfinished_run(store: Store, trial: Trial) -> RunRecord | None:
    """The trial's run from an earlier command, if it is active or waits in a session that will take it."""
    run = store.run(trial.run_id) if trial.run_id is not None else None
    if run is None or run.ended:
        return None
    session = store.session(run.session_id)
    if run.status == "running" or (session.up and not session.private):
        return run
    end_run(store, run.id)  # it waits for a session that is gone
    return None


def _wait_up(store: Store, session: SessionRecord) -> SessionRecord:
    """Wait for a session that may come back, and return it. Raises WorkshopError if it doesn't."""
    deadline = time.monotonic() + (0.0 if session.private else REVIVED)
    while not (now := store.session(session.id)).up:
        if now.state == "stopped" or time.monotonic() > deadline:
            raise WorkshopError(f"Session {session.name} is {now.state}, so the study can't go on there.")
        time.sleep(0.2)
    return now
