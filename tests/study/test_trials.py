"""The order of trials, what is missing, and how long it will take."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis import cases
from workshop.store.records import RunRecord, Trial
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
