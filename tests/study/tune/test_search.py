"""Which trial is next: what is possible, decided alike whoever asks, and never twice."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study.tune import cases
from workshop.study.tune import kind, search
from workshop.study.tune.kind import reported
from workshop.study.tune.study import Length, TuneStudy, key

few = settings(max_examples=8, deadline=None)


def speeds(seed: int, failing: float = 0.0) -> cases.Speed:
    """A machine on which every placement has a speed of its own, and some fail."""
    known: dict[str, float | str] = {}
    dice = random.Random(seed)

    def speed(point: Any) -> float | str:
        if key(point) not in known:
            known[key(point)] = "RankDied" if dice.random() < failing else dice.uniform(1000.0, 9000.0)
        return known[key(point)]

    return speed


@few
@given(st.integers(0, 2**31 - 1), st.sampled_from((0.0, 0.3, 1.0)), st.sampled_from((None, 60.0, 150.0, 400.0)))
def test_every_trial_is_possible_and_none_is_tried_twice(seed: int, failing: float, budget: float | None) -> None:
    asked = cases.asked(seed=seed, budget=budget)
    trials, runs = cases.searched(asked, speeds(seed, failing))
    possible = {key(point) for point in asked.points()}
    first, again = search.split(trials)
    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    assert [key(trial.point) for trial in first[:3]] == [key(point) for point in asked.begin]
    assert {key(trial.point) for trial in first} <= possible
    assert len({key(trial.point) for trial in first}) == len(first), "once each"
    assert {key(trial.point) for trial in again} <= {key(trial.point) for trial in first}
    assert all(trial.params["batch"] * trial.placement["ranks"] == 128 for trial in trials), "the same work for all"
    if budget is not None:
        assert search.spent(trials, runs) <= max(budget, 10.0 * len(asked.begin))
    if failing == 1.0:
        assert not again, "there is nothing to measure again"


@few
@given(st.integers(0, 2**31 - 1), st.data())
def test_whoever_goes_on_decides_alike(seed: int, data: st.DataObject) -> None:
    """Cut anywhere, the next trial is the one that came: whatever is decided is in the store."""
    asked = cases.asked(seed=seed, budget=180.0)
    trials, runs = cases.searched(asked, speeds(seed, 0.1))
    at = data.draw(st.integers(0, len(trials) - 1))
    kept = {number: runs[number] for number in range(1, at + 1)}
    read = TuneStudy.read(cases.study(asked))
    assert read == asked or read.description() == asked.description()
    (first, *_) = kind.more(cases.sofar(read, trials[:at], kept))
    assert (first.number, first.label, first.params, first.placement, first.repeat, first.point) == (
        trials[at].number,
        trials[at].label,
        trials[at].params,
        trials[at].placement,
        trials[at].repeat,
        trials[at].point,
    )


def test_it_ends_after_several_trials_without_a_gain() -> None:
    """The default is the best: every value of every knob is looked at once, then patience runs out."""
    asked = cases.asked()
    trials, _ = cases.searched(asked, lambda point: 5000.0 if key(point) == key(asked.begin[0]) else 4000.0)
    first, _ = search.split(trials)
    unseen = [trial.point for trial in first[3:]]
    for name, values in asked.axes().items():
        assert {trial.point[name] for trial in first} == set(values), name
    assert unseen[0]["exchange"] == "mpi-per-tensor" and unseen[1]["exchange"] == "parameter-server"
    assert len(first) < len(asked.points()) / 2


def test_no_more_placements_and_no_more_time_than_were_asked_for() -> None:
    """But for the default and the naive start, without which there is nothing to compare."""
    for asked in (cases.asked(trial_limit=2), cases.asked(budget=30.0)):
        first, _ = search.split(cases.searched(asked, speeds(5))[0])
        assert [trial.point for trial in first] == [dict(asked.begin[0]), dict(asked.naive)]
        assert search.total(cases.sofar(asked, [], {})) >= 2
    first, _ = search.split(cases.searched(cases.asked(trial_limit=5), speeds(5))[0])
    assert len(first) == 5


def test_the_best_is_found_among_many() -> None:
    """One placement is clearly better than all others, away from the default in three knobs."""

    def speed(point: Any) -> float:
        rate = 1000.0 * min(point["ranks"], 2)
        rate *= {"mpi-per-tensor": 1.5}.get(point["exchange"], 1.0)
        rate *= 1.2 if point["bind_to"] == "none" else 1.0
        return rate * (1.1 if point["env.OMPI_MCA_mpi_yield_when_idle"] == "0" else 1.0)

    for seed in range(2):
        asked = cases.asked(seed=seed, budget=300.0)
        trials, runs = cases.searched(asked, speed)
        found = reported(cases.study(asked), trials, runs)
        assert found.best is not None and found.best.median == pytest.approx(2000.0 * 1.5 * 1.2 * 1.1)
        assert len(trials) <= 30


def test_memory_that_trials_have_shown_limits_the_ranks() -> None:
    asked = cases.asked(memory=3 << 30)
    shown = {"memory": [900 << 20, 1 << 30]}
    (first,) = kind.more(cases.sofar(asked, [], {}))
    done, run = cases.ended(first, 5000.0, **shown)
    assert search.most_ranks(asked, [done], {run.id: run}) == 3, "three of 900 MiB go into 2.88 GiB"
    trials, runs = [done], {run.id: run}
    while further := [trial for trial in kind.more(cases.sofar(asked, trials, runs)) if trial.repeat == 1]:
        done, run = cases.ended(further[0], 4000.0, **shown)
        trials.append(done)
        runs[run.id] = run
    assert len(trials) > 6 and max(trial.placement["ranks"] for trial in trials) == 2


def test_what_ran_out_of_memory_is_not_tried_with_more() -> None:
    trials, _ = cases.searched(cases.asked(), lambda p: "OutOfMemory" if p["ranks"] > 1 else 3000.0)
    more_than_one = [trial for trial in trials if trial.placement["ranks"] > 1]
    assert [trial.point["exchange"] for trial in more_than_one] == ["horovod", "mpi"], "the beginning, and no others"


def test_trials_last_as_long_as_the_first_has_shown() -> None:
    def next_steps(seconds: float, fixed: bool = False) -> int:
        asked = cases.asked(length=Length("steps", 250, "train", fixed))
        (first,) = kind.more(cases.sofar(asked, [], {}))
        assert first.params["steps"] == 250
        done, run = cases.ended(first, 5000.0, seconds={"train": seconds})
        (second,) = kind.more(cases.sofar(asked, [done], {run.id: run}))
        return second.params["steps"]

    assert next_steps(3.1) == next_steps(1.5) == next_steps(6.0) == 250
    assert next_steps(0.3) == 2500, "a machine that is ten times as fast"
    assert next_steps(31.0) == 24
    assert next_steps(31.0, fixed=True) == 250, "somebody has said how long"
    # Of training, steps that compile don't count: 248 of 128 images at 5000 images/s are 6.3 s.
    (first,) = kind.more(cases.sofar(cases.asked(), [], {}))
    done, run = cases.ended(first, 5000.0, measured_steps=248, **{"seconds": {"train": 2.0}})
    (second,) = kind.more(cases.sofar(cases.asked(), [done], {run.id: run}))
    assert second.params["steps"] == 120


def test_the_best_are_measured_again_in_turn_with_the_naive_start() -> None:
    asked = cases.asked(budget=300.0)
    trials, runs = cases.searched(asked, speeds(7))
    first, again = search.split(trials)
    best = sorted(first, key=lambda trial: -(search.measured(trial, runs, asked.rate) or 0.0))
    assert again[0].label == best[0].label
    labels = [trial.label for trial in again]
    naive = next(trial.label for trial in first if key(trial.point) == key(asked.naive))
    assert naive in labels and best[0].label in labels
    rounds = {trial.repeat for trial in again}
    assert all(labels.count(label) == len(rounds) for label in labels), "all equally often"
    assert all(trial.params == next(t for t in first if t.label == trial.label).params for trial in again)
