"""The order of trials, what is missing, and how long it will take."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis import cases
from tests.study import seed
from tests.web import seed as class_seed
from workshop.store.records import RunRecord, Trial
from workshop.store.store import Store
from workshop.store.tables import runs
from workshop.study.kinds import SECONDS, Remaining, Sofar, ahead_words, read, remaining_work, seconds_each
from workshop.study.runner import Progress, TrialMonitor
from workshop.study.trials import Cell, interleave, missing, remaining, status


def cells(count: int) -> list[Cell]:
    return [Cell(f"cell {number}", {"number": number}, {"ranks": number + 1}) for number in range(count)]


@given(st.integers(1, 12), st.integers(1, 12))
def test_each_round_has_every_cell_once_and_begins_with_another(count: int, repeats: int) -> None:
    trials = interleave(cells(count), repeats)
    assert [trial.number for trial in trials] == list(range(1, count * repeats + 1))
    rounds = [trials[begin : begin + count] for begin in range(0, len(trials), count)]
    for number, one in enumerate(rounds, 1):
        assert {trial.label for trial in one} == {f"cell {n}" for n in range(count)}
        assert {trial.repeat for trial in one} == {number}
    begins = Counter(one[0].label for one in rounds)
    assert max(begins.values()) <= -(-repeats // count), "all cells begin about as often"
    for trial in trials:
        assert trial.params["number"] + 1 == trial.placement["ranks"] and trial.run_id is None


def trial(number: int, run: int | None, label: str = "a", error: dict[str, str] | None = None) -> Trial:
    return Trial(number, label, {}, {}, 1, run, error)


def run(number: int, **changes: object) -> RunRecord:
    return replace(cases.run(), id=number, **changes)


@pytest.mark.parametrize(
    ("one", "became", "wanted"),
    [
        (trial(1, None), "waiting", True),
        (trial(1, 99), "waiting", True),
        (trial(1, 1), "completed", False),
        (trial(1, 2), "failed", False),
        (trial(1, 3), "cancelled", True),
        (trial(1, 4), "interrupted", True),
        (trial(1, 5), "running", True),
        (trial(1, 3, error={"type": "TimeLimit", "message": "…"}), "failed", False),
        (trial(1, None, error={"type": "BadInput", "message": "…"}), "failed", False),
    ],
)
def test_what_became_of_a_trial(one: Trial, became: str, wanted: bool) -> None:
    ended = ["completed", "failed", "cancelled", "interrupted", "running"]
    runs = {number: run(number, status=as_read) for number, as_read in enumerate(ended, 1)}
    assert status(one, runs) == became
    assert (missing([one], runs) == [one]) is wanted


def test_the_time_that_is_left() -> None:
    done = {
        1: run(1, queued_at=-600.0, started_at=0.0, finished_at=10.0),  # waits don't count
        2: run(2, started_at=10.0, finished_at=24.0),
        3: run(3, started_at=24.0, finished_at=124.0),
        4: run(4, started_at=124.0, finished_at=125.0, status="failed"),
    }
    trials = [trial(1, 1), trial(2, 2), trial(3, 3, "b"), trial(4, 4)]
    assert remaining(trials, done) == 0.0
    assert remaining([*trials, trial(5, None)], done) == 12.0
    assert remaining([*trials, trial(5, None, "b")], done) == 100.0
    assert remaining([*trials, trial(5, None, "c")], done) == 14.0, "the median of all"
    assert remaining([*trials, trial(5, None), trial(6, None)], done, 7) == 2 * 12.0 + 14.0
    assert remaining([trial(1, None)], {}) is None


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
