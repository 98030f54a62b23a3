"""Gains between two votes on a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.quiz.results.findings import gain
from workshop.quiz.results.record import RoundAnswer

VOTES = st.dictionaries(st.integers(0, 6), st.booleans())


def answers(votes: dict[int, bool]) -> list[RoundAnswer]:
    return [RoundAnswer("world", player, 0, share=float(right), right=right) for player, right in votes.items()]


@given(VOTES, VOTES)
def test_a_gain_counts_each_learner_once(first: dict[int, bool], second: dict[int, bool]) -> None:
    counted = gain(answers(first), answers(second))
    if not first or not second:
        assert counted is None
        return
    assert counted is not None
    both = first.keys() & second.keys()
    changes = sum(second[player] - first[player] for player in both)
    assert counted.improved - counted.worsened == changes and counted.improved + counted.worsened <= counted.both
    if counted.normalised is not None:
        assert counted.normalised <= 1
        assert (counted.normalised > 0) == (counted.after > counted.before)


def test_the_normalised_gain_is_that_of_hake() -> None:
    counted = gain(answers({1: True, 2: False, 3: False, 4: False}), answers({1: True, 2: True, 3: True, 4: False}))
    assert counted is not None and counted.normalised == pytest.approx(2 / 3)
    assert "First vote 25 % right, second vote 75 % right, a normalised gain of 0.67 (Hake 1998)." in counted.words
    assert "Of 4 learners who voted twice, 2 went from wrong to right and 0 from right to wrong." in counted.words


def test_polls_have_no_gain() -> None:
    poll = [RoundAnswer("like", 1, 0)]
    assert gain(poll, poll) is None
