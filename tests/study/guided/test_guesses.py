"""How near a guess came."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.study.guided.kind import Answer, ChoiceGuess, NumberGuess, check, right, score, tally

FASTER = NumberGuess("How much?", "x", 1, 100, 0.05)
SHARE = NumberGuess("What share?", "%", 0, 100, 1)
MEMORY = NumberGuess("How many MB?", "MB", -100, 1000, 1)
WHICH = ChoiceGuess("Which?", ("1 x 2", "2 x 1", "4 x 1"))


@pytest.mark.parametrize(
    ("ask", "guess", "answer", "words"),
    [
        (FASTER, 1.5, Answer(1.9), "You guessed 1.50×, measured 1.90×: too low."),
        (FASTER, 2.0, Answer(1.9), "You guessed 2.00×, measured 1.90×: that is near enough."),
        (SHARE, 10.0, Answer(40.0, margin=5), "You guessed 10 %, measured 40 %: 4.0 times too low."),
        (MEMORY, 0.0, Answer(-0.2, margin=1), "You guessed 0 MB, measured -0.2 MB: that is near enough."),
        (WHICH, "1 x 2", Answer("2 x 1"), "You guessed 1 x 2. Measured: 2 x 1."),
        (
            WHICH,
            "4 x 1",
            Answer("2 x 1", ("4 x 1",)),
            "You guessed 4 x 1. Measured: 2 x 1, but the two can't be told apart, so you are right.",
        ),
    ],
)
def test_a_guess_and_what_came_out(
    ask: NumberGuess | ChoiceGuess, guess: float | str, answer: Answer, words: str
) -> None:
    assert score(ask, guess, answer) == words
    assert right(ask, guess, answer) == ("near enough" in words or "so it is" in words or "you are right" in words)


@pytest.mark.parametrize("value", ["1.5", None, math.nan, math.inf, 0.5, 101, True, [1]])
def test_what_is_no_guess(value: object) -> None:
    with pytest.raises(BadInput, match="The guess is"):
        check(FASTER, value)
    with pytest.raises(BadInput, match="The guess is"):
        check(WHICH, "3 x 3")
    assert check(FASTER, 2) == 2.0 and check(WHICH, "4 x 1") == "4 x 1"


@given(st.lists(st.floats(1, 100), max_size=60))
def test_everybody_is_counted_once(numbers: list[float]) -> None:
    counted = tally(FASTER, numbers)
    assert sum(count for _, count in counted) == len(numbers)
    assert len(counted) <= 8
