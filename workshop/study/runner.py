"""Running a study: its missing trials one after the other, as ordinary runs of a session, measured ones where its kind
compares how fast they are.

What a study has is in the store at every moment: a run and the note of whose trial it is are written together. So
whoever goes on with a study after Ctrl-C, kill -9 or a power cut finds the runs that have ended and those that still
go on, and runs the rest.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from workshop.core.errors import BadInput, WorkshopError
from workshop.mpi import horovod
from workshop.runtime import client
from workshop.store.records import Identity, RunRecord, SessionRecord, StudyRecord, Trial
from workshop.store.sessions import SILENT
from workshop.store.store import Store
from workshop.study.kinds import Kind, Sofar, kind, read
from workshop.study.trial_monitor import LIMIT, Look, TrialMonitor, end_run
from workshop.study.trials import impossible, missing, status

HEARTBEAT = 1.0  # seconds
REVIVED = 60.0  # seconds that a session gets to come back after its conductor has died


@contextmanager
def working_on(store: Store, study_id: int) -> Iterator[str]:
    """Hold a study for oneself, and yield the name of its holder. Raises BadInput where somebody else holds it.

    Somebody who was killed is told from somebody who works by waiting for the next heartbeat.
    """
    runner = secrets.token_hex(8)
    first = heard = store.take_study(study_id, runner)
    deadline = time.monotonic() + 2 * SILENT
    while heard is not None:
        if heard != first or time.monotonic() > deadline:
            raise BadInput(
                f"Study {study_id} is being run by another command; follow it with: workshop study show {study_id}"
            )
        time.sleep(0.2)
        heard = store.take_study(study_id, runner)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT):
            with suppress(WorkshopError):  # a database that is busy for a moment
                if not store.keep_study(study_id, runner):
                    return

    heart = threading.Thread(target=beat, name=f"study {study_id}", daemon=True)
    heart.start()
    try:
        with horovod.unchanged():
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
) -> StudyRecord:
    """Run what is missing of a study, `working_on` which the caller is. Returns the study as it then is.

    `identity` is whose runs they are: a learner's have to stay within the session's limits.

    A trial that fails is kept as failed and the study goes on; one whose conductor died is tried again once the
    session is back. After a KeyboardInterrupt, which is passed on, no run of the study goes on. Raises WorkshopError
    where the session is no longer there, or somebody else has taken the study over.
    """
    tried: dict[int, int] = {}
    wait = TrialMonitor(store, store.study(study_id), on_look, limit)
    try:
        for trial in missing(*read(store, study_id)):
            if run := _left(store, trial):
                wait.until_ended(trial, run)
        while trial := _next(store, study_id, tried) or _more(store, study_id, runner, wait.kind):
            tried[trial.number] = tried.get(trial.number, 0) + 1
            if not store.keep_study(study_id, runner):  # this computer slept, and somebody thought us dead
                raise WorkshopError(f"Study {study_id} has been taken over by another command.")
            if run := _submit(store, study_id, trial, session, wait.kind.measured, identity):
                wait.until_ended(trial, run)
    except KeyboardInterrupt:
        _cancel(store, study_id)
        raise
    finish(store, study_id, runner)
    return store.study(study_id)


def wanted(store: Store, study_id: int) -> list[Trial]:
    """What a study still has to run as it is now: the trials that are missing, or those that its kind wants beyond
    those it has; none: it is complete."""
    study = store.study(study_id)
    trials, runs = read(store, study_id)
    return missing(trials, runs) or kind(study.kind).more(Sofar(study, trials, runs))


def finish(store: Store, study_id: int, runner: str) -> None:
    """Note that a study has all its trials, if it has."""
    trials, runs = read(store, study_id)
    if not missing(trials, runs):
        completed = any(status(trial, runs) == "completed" for trial in trials)
        store.finish_study(study_id, runner, "completed" if completed else "failed")


def unfinished(store: Store, kind: str, workload: str, description: Mapping[str, Any]) -> StudyRecord | None:
    """The newest study that asks for the very same and has not finished."""
    for study in store.studies(kind=kind):
        if study.finished_at is None and study.workload == workload and study.description == description:
            return study
    return None


def renew_failed(store: Store, study_id: int) -> int:
    """Have the study's failed trials run again, but for those that can't be. Returns how many there are."""
    trials, runs = read(store, study_id)
    failed = [trial.number for trial in trials if status(trial, runs) == "failed" and not impossible(trial)]
    if failed:
        store.renew_trials(study_id, failed)
    return len(failed)


def _next(store: Store, study_id: int, tried: Mapping[int, int]) -> Trial | None:
    """The first trial that is missing and may be tried: each once, and once more after its conductor has died."""
    trials, runs = read(store, study_id)
    for trial in missing(trials, runs):
        again = 1 if status(trial, runs) == "interrupted" else 0
        if tried.get(trial.number, 0) <= again:
            return trial
    return None


def _submit(
    store: Store,
    study_id: int,
    trial: Trial,
    session: SessionRecord,
    measured: bool = True,
    identity: Identity | None = None,
) -> RunRecord | None:
    """Put a trial into the session's queue; None where it can't be run at all, which is kept."""
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


def _more(store: Store, study_id: int, runner: str, of: Kind) -> Trial | None:
    """The first of the trials that the study wants beyond those it has; None where it wants none, or still has some
    that were tried in vain."""
    trials, runs = read(store, study_id)
    if missing(trials, runs):
        return None
    further = of.more(Sofar(store.study(study_id), trials, runs))
    if not further:
        return None
    if not store.add_trials(study_id, runner, further):
        raise WorkshopError(f"Study {study_id} has been taken over by another command.")
    return further[0]


def _left(store: Store, trial: Trial) -> RunRecord | None:
    """The run that an earlier command has left, if it still goes on, or waits in a session that will take it."""
    run = store.run(trial.run_id) if trial.run_id is not None else None
    if run is None or run.ended:
        return None
    session = store.session(run.session_id)
    if run.status == "running" or (session.up and not session.private):
        return run
    end_run(store, run.id)  # it waits for a session that is gone
    return None


def _wait_up(store: Store, session: SessionRecord) -> SessionRecord:
    """Wait for a session that may come back; returns it as it is then. Raises WorkshopError where it doesn't."""
    deadline = time.monotonic() + (0.0 if session.private else REVIVED)
    while not (now := store.session(session.id)).up:
        if now.state == "stopped" or time.monotonic() > deadline:
            raise WorkshopError(f"Session {session.name} is {now.state}, so the study can't go on there.")
        time.sleep(0.2)
    return now


def _cancel(store: Store, study_id: int) -> None:
    """End the runs of a study that still go on."""
    for run in store.runs(study_id=study_id, limit=None):
        if not run.ended:
            end_run(store, run.id)
