"""How long a run is likely to take, and from what that is known."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

import pytest

from tests.report.analysis import cases
from tests.study import seed
from tests.web import seed as class_seed
from workshop.store.store import Store
from workshop.store.tables import runs
from workshop.study.estimate import SECONDS, Remaining, ahead_words, remaining_work, seconds_each
from workshop.study.kinds import Sofar, read
from workshop.study.trial_monitor import Progress, TrialMonitor

Ended = Literal["completed", "failed", "cancelled"]


def ran(
    store: Store, session: int, seconds: float, workload: str = "kmeans", status: Ended = "completed", **params: int
) -> None:
    run = store.submit(session, workload, params, {"ranks": 1})
    store.take_next(session)
    store.finish(run.id, status)
    with store.database.writing() as connection:
        times = {"queued_at": 999.0, "started_at": 1000.0, "finished_at": 1000.0 + seconds}
        connection.execute(runs.update().where(runs.c.id == run.id).values(**times))


def test_it_is_known_from_runs_that_are_alike(store: Store) -> None:
    session = class_seed.session(store).id
    assert seconds_each(store, "kmeans", {"points": 10}) == (
        SECONDS,
        "at 30 s a run, which is a guess: k-means has not run here yet",
    )
    ran(store, session, 50.0, workload="mnist", points=10)
    ran(store, session, 500.0, status="failed", points=10)
    assert seconds_each(store, "kmeans", {"points": 10})[0] == SECONDS, "neither says how long kmeans takes"
    ran(store, session, 8.0, points=99)
    assert seconds_each(store, "kmeans", {"points": 10}) == (
        8.0,
        "at 8 s a run, as its last run with other settings took",
    )
    for seconds in (2.0, 4.0, 60.0):
        ran(store, session, seconds, points=10, clusters=3)
    assert seconds_each(store, "kmeans", {"points": 10}) == (4.0, "at 4 s a run, as its last 3 runs took")
    assert seconds_each(store, "kmeans", {})[0] == 6.0, "all of them are"


def lasts(store: Store, run: int, seconds: float, waited: float = 0.0) -> None:
    """Have a run that has ended begun so many seconds before, and waited before that."""
    with store.database.writing() as connection:
        at = store.run(run).finished_at or 0.0
        times = {"started_at": at - seconds, "queued_at": at - seconds - waited}
        connection.execute(runs.update().where(runs.c.id == run).values(**times))


def test_what_is_left_is_one_number(store: Store) -> None:
    """Before the first run, and while a study goes on."""
    session = class_seed.session(store)
    ran(store, session.id, 20.0, workload="mnist")
    study = seed.study(store, session, ended=0)

    def sofar() -> Sofar:
        return Sofar(store.study(study.id), *read(store, study.id))

    assert ahead_words(store, sofar()).startswith("9 runs to go, about 3 min (at 20 s a run, as its last run")
    seed.end(store, session, study.id, 1)
    lasts(store, 2, 22.0, waited=600.0)  # for others who measured
    assert remaining_work(store, sofar()) == Remaining(8, 8 * 22.0, "as its own runs took")
    seed.end(store, session, study.id, 2)
    lasts(store, 3, 90.0)
    left = remaining_work(store, sofar())
    assert left.seconds == 2 * 22.0 + 2 * 90.0 + 3 * 56.0

    # While a run goes on, its own seconds are taken off, but no more than it was said to take.
    at = time.time()
    running = replace(cases.run(), status="running", started_at=at - 10.0, finished_at=None)
    assert left.after([running]) == pytest.approx(left.seconds - 10.0, abs=1.0)
    assert left.after([replace(running, started_at=at - 1e6)]) == pytest.approx(left.seconds * 6 / 7)

    # Whoever runs the study shows the same.
    told: list[Progress] = []
    seed.end(store, session, study.id, 4)
    trial = store.trials(study.id)[3]
    TrialMonitor(store, store.study(study.id), told.append, 60.0).until_ended(trial, store.run(trial.run_id or 0))
    assert told[0].seconds_left == remaining_work(store, sofar()).seconds
