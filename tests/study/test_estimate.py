"""How long a run is likely to take, and from what that is known."""

from __future__ import annotations

from typing import Literal

from tests.server import seed as class_seed
from workshop.store.store import Store
from workshop.store.tables import runs
from workshop.study.estimate import SECONDS, seconds_each

Ended = Literal["completed", "failed", "cancelled"]


def ran(
    store: Store, session: int, seconds: float, workload: str = "kmeans", status: Ended = "completed", **params: int
) -> None:
    run = store.submit(session, workload, params, {"ranks": 1})
    store.take_next(session)
    store.finish(run.id, status)
    with store.database.writing() as connection:
        times = {"started_at": 1000.0, "finished_at": 1000.0 + seconds}
        connection.execute(runs.update().where(runs.c.id == run.id).values(**times))


def test_it_is_known_from_runs_that_are_alike(store: Store) -> None:
    session = class_seed.session(store).id
    assert seconds_each(store, "kmeans", {"points": 10}) == (
        SECONDS,
        "at 30 s a run, which is a guess: kmeans has not run here yet",
    )
    ran(store, session, 50.0, workload="mnist", points=10)
    ran(store, session, 500.0, status="failed", points=10)
    assert seconds_each(store, "kmeans", {"points": 10})[0] == SECONDS, "neither says how long kmeans takes"
    ran(store, session, 8.0, points=99)
    assert seconds_each(store, "kmeans", {"points": 10}) == (8.0, "at 8.0 s a run, as its last other run took")
    for seconds in (2.0, 4.0, 60.0):
        ran(store, session, seconds, points=10, clusters=3)
    assert seconds_each(store, "kmeans", {"points": 10}) == (4.0, "at 4.0 s a run, as its last 3 runs took")
    assert seconds_each(store, "kmeans", {})[0] == 6.0, "all of them are"
