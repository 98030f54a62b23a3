"""Which trial is next: what is possible, never twice, and the same again after a crash."""

from __future__ import annotations

import random
import zlib
from typing import Any

import pytest

from tests.postgres import Server
from tests.store.conftest import postgres
from tests.study.tune import cases
from workshop.store.store import Store
from workshop.study.kinds import Sofar, Watched
from workshop.study.tune import kind, search
from workshop.study.tune.study import TuneStudy, key

__all__ = ["postgres"]

pytestmark = pytest.mark.usefixtures("workshop_home")


def speeds(seed: int, failing: float = 0.0) -> cases.Speed:
    """A machine on which every placement has a speed of its own, and some fail."""

    def speed(point: Any) -> float | str:
        dice = random.Random(seed + zlib.crc32(key(point).encode()))
        return "RankDied" if dice.random() < failing else dice.uniform(1000.0, 9000.0)

    return speed


@pytest.mark.parametrize(("seed", "failing", "budget"), [(1, 0.3, 200.0), (2, 1.0, 100.0)])
def test_every_trial_is_possible_and_none_is_tried_twice(seed: int, failing: float, budget: float) -> None:
    asked = cases.asked(seed=seed, budget=budget)
    trials, runs = cases.searched(asked, speeds(seed, failing))
    first, again = search.split(trials)
    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    assert [key(trial.point) for trial in first[:5]] == [key(point) for point in asked.begin]
    assert {key(trial.point) for trial in first} <= {key(point) for point in asked.points()}
    assert len({key(trial.point) for trial in first}) == len(first), "once each"
    assert all(trial.params["batch"] * trial.placement["ranks"] == 128 for trial in trials), "the same work for all"
    assert budget - 50.0 < search.spent(trials, runs) <= budget, "ten seconds each"
    if failing == 1.0:
        assert not again, "there is nothing to measure again"
        return
    best = max(first, key=lambda trial: search.measured(trial, runs, asked.rate) or 0.0)
    naive = next(trial for trial in first if key(trial.point) == key(asked.naive))
    labels = {trial.label for trial in (best, naive) if search.measured(trial, runs, asked.rate)}
    assert [{trial.label for trial in again if trial.repeat == turn} for turn in (2, 3)] == [labels, labels]


@pytest.mark.real
def test_in_postgresql(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKSHOP_DATABASE_URL", postgres.new_database())
    with Store.open():
        test_a_killed_command_goes_on_where_it_was()
    search._storage.cache_clear()  # closes its connections


def test_a_killed_command_goes_on_where_it_was() -> None:
    """Killed between Optuna's answer and the store's: the same trial is wanted again, and it is told once."""
    asked = cases.asked()
    trials, runs = [], {}
    for _ in range(8):
        wanted = kind.more(cases.sofar(asked, trials, runs))
        search._storage.cache_clear()  # another process
        assert kind.more(cases.sofar(TuneStudy.read(cases.study(asked)), trials, runs)) == wanted
        done, run = cases.ended(wanted[0], speeds(3)(wanted[0].point))
        trials, runs = [*trials, done], {**runs, run.id: run}
    studied = search.optuna_study(cases.study(asked))
    told = {trial.value for trial in studied.trials if trial.state.name == "COMPLETE"}
    assert told == {runs[trial.number].metrics[asked.rate] for trial in trials[:-1]}
    assert len(list(search._running(studied, asked))) == 1, "the last one's result comes with the next question"


def test_no_more_placements_and_no_more_time_than_were_asked_for() -> None:
    """But for the default and the naive start, without which there is nothing to compare."""
    for asked in (cases.asked(most_trials=2), cases.asked(budget=30.0)):
        first, _ = search.split(cases.searched(asked, speeds(5))[0])
        assert [trial.point for trial in first] == [dict(asked.begin[0]), dict(asked.naive)]
    asked = cases.asked(
        most_trials=500, budget=86_400.0, knobs={**cases.asked().knobs, "exchange": ("horovod", "mpi")}, threads=[1]
    )
    first, again = search.split(cases.searched(asked, speeds(5))[0])
    assert len(first) == len(asked.points()), "everything, though the sampler proposes much that can't be"
    assert len(again) == 4
    assert search.total(cases.sofar(cases.asked(budget=300.0))) == 20


def test_the_best_is_found_among_many() -> None:
    """One placement is clearly better than all others, away from the default in three knobs."""

    def speed(point: Any) -> float:
        rate = 1000.0 * min(point["ranks"], 2)
        rate *= {"mpi-per-tensor": 1.5}.get(point["exchange"], 1.0)
        return rate * (1.4 if point["bind_to"] == "none" else 1.0) * (1.2 if point[cases.POLL] == "0" else 1.0)

    trials, _ = cases.searched(cases.asked(), speed)
    assert max(speed(trial.point) for trial in trials) >= 0.8 * max(map(speed, cases.asked().points()))


def test_memory_that_trials_have_shown_limits_the_ranks() -> None:
    asked = cases.asked(memory=3 << 30)
    trials, runs = cases.searched(asked, speeds(1), most=12, memory=[900 << 20, 1 << 30])
    assert search.most_ranks(asked, trials, runs) == 3, "three of 900 MiB go into 2.88 GiB"
    assert max(trial.placement["ranks"] for trial in trials) == 2
    trials, _ = cases.searched(cases.asked(), lambda p: "OutOfMemory" if p["ranks"] > 1 else 3000.0, most=12)
    assert [trial.number for trial in trials if trial.placement["ranks"] > 1] == [1], "no others after it"


def test_trials_last_as_long_as_the_first_has_shown() -> None:
    def next_steps(fixed: bool = False, **metrics: Any) -> int:
        trials, _ = cases.searched(cases.asked(fixed=fixed), lambda point: 5000.0, most=2, **metrics)
        assert trials[0].params["steps"] == 250
        return int(trials[1].params["steps"])

    assert {next_steps(seconds={"train": seconds}) for seconds in (3.1, 1.5, 6.0)} == {250}
    assert next_steps(seconds={"train": 0.3}) == 2500, "a machine that is ten times as fast"
    assert next_steps(seconds={"train": 31.0}) == 24
    assert next_steps(fixed=True, seconds={"train": 31.0}) == 250, "somebody has said how long"
    # Of training, steps that compile don't count: 248 of 128 images at 5000 images/s are 6.3 s.
    assert next_steps(measured_steps=248, seconds={"train": 2.0}) == 120


def test_the_pruner_ends_what_is_slower_than_most_but_neither_the_naive_start_nor_a_repeat() -> None:
    asked = cases.asked()
    trials, runs = [], {}

    def look(rate: float | None, seconds: float) -> str | None:
        return kind.hopeless(Sofar(cases.study(asked), trials, runs), wanted, Watched(running, seconds, rate))

    for speed in (9000.0, 3000.0):  # the default and the naive start
        (wanted,) = kind.more(cases.sofar(asked, trials, runs))
        done, running = cases.ended(wanted, speed)
        assert [look(speed, seconds) for seconds in (0.5, 1.2, 1.7, 2.5)] == [None] * 4
        trials, runs = [*trials, done], {**runs, running.id: running}
    (wanted,) = kind.more(cases.sofar(asked, trials, runs))
    _, running = cases.ended(wanted, 1.0)
    assert look(None, 0.0) is None and look(4000.0, 0.7) is None, "nothing is known yet, or too little"
    assert look(4000.0, 1.1) == "After 1.1 s it did 4,000 images/s, less than the median of the trials before it."
    given_up = cases.pruned(wanted, running, 4000.0)
    trials, runs = [*trials, given_up[0]], {**runs, running.id: given_up[1]}
    (wanted,) = kind.more(cases.sofar(asked, trials, runs))
    assert key(wanted.point) not in {key(trial.point) for trial in trials}
    states = [trial.state.name for trial in search.optuna_study(cases.study(asked)).trials[:3]]
    assert states == ["COMPLETE", "COMPLETE", "PRUNED"]
