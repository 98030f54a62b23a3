"""What learners are asked to predict in each step, and how near they came. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import words
from workshop.core.errors import BadInput

NEAR = 0.15  # of what was measured: a guess within that was right
SHOWN = "shown"  # value of somebody who would rather see than guess

# x: times as fast; %: a percentage; points between two percentages; a count of something, or megabytes.
Unit = Literal["x", "%", "points", "threads", "MB"]


@dataclass(frozen=True)
class NumberGuess:
    """A guess that is a number."""

    question: str
    unit: Unit
    low: float
    high: float
    step: float
    start: float  # where the form begins, which is no hint


@dataclass(frozen=True)
class ChoiceGuess:
    """A guess that is one of several."""

    question: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What came out: a number, or the one that won and those that may be as good."""

    value: float | str
    ties: tuple[str, ...] = ()
    margin: float = 0.0  # of a number: what it may be off by


Ask = NumberGuess | ChoiceGuess


def about(study_id: int, step: str) -> str:
    """Under which name a guess is kept."""
    return f"study/{study_id}/{step}"


def check(ask: Ask, value: Any) -> float | str:
    """A guess as it is kept. Raises BadInput for one that doesn't answer the question."""
    if isinstance(ask, ChoiceGuess):
        if value not in ask.options:
            raise BadInput(f"The guess is {str(value)[:40]!r}; it should be {words.listed(ask.options)}.")
        return value
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not usable or not ask.low <= value <= ask.high:
        raise BadInput(f"The guess is {str(value)[:40]}; it should be a number from {ask.low:g} to {ask.high:g}.")
    return float(value)


def said(ask: Ask, value: float | str) -> str:
    """A guess or an answer as people write it: 1.5x, 40 %, 25 threads, 3 MB."""
    if isinstance(ask, ChoiceGuess) or isinstance(value, str):
        return str(value)
    number = f"{value:.2f}" if ask.unit == "x" else words.short(value)
    return f"{number}x" if ask.unit == "x" else f"{number} {ask.unit}"


def right(ask: Ask, guess: float | str, answer: Answer) -> bool:
    """Whether a guess was as good as one can tell."""
    if isinstance(guess, str) or isinstance(answer.value, str):
        return guess == answer.value or guess in answer.ties
    slack = max(NEAR * abs(answer.value), answer.margin)
    return abs(guess - answer.value) <= slack


def score(ask: Ask, guess: float | str, answer: Answer) -> str:
    """One sentence: what was guessed and what was measured."""
    told, measured = said(ask, guess), said(ask, answer.value)
    if isinstance(guess, str) or isinstance(answer.value, str):
        if guess == answer.value:
            return f"You guessed {told}, and so it is."
        if guess in answer.ties:
            return f"You guessed {told}. Measured: {measured}, but the two can't be told apart, so you are right."
        return f"You guessed {told}. Measured: {measured}."
    if right(ask, guess, answer):
        return f"You guessed {told}, measured {measured}: that is near enough."
    more = guess - answer.value
    if ask.unit in ("x", "points") or answer.value <= 0:
        return f"You guessed {told}, measured {measured}: {'too high' if more > 0 else 'too low'}."
    by = max(guess, answer.value) / max(min(guess, answer.value), 1e-9)
    far = (
        f"{by:.1f} times too {'high' if more > 0 else 'low'}"
        if by < 100
        else f"far too {'high' if more > 0 else 'low'}"
    )
    return f"You guessed {told}, measured {measured}: {far}."


def kept(value: Any) -> float | str | None:
    """The guess itself from what the store has; None for somebody who only wanted to see."""
    return value.get("guess") if isinstance(value, dict) else None


def tally(ask: Ask, guesses: Sequence[float | str], most: int = 8) -> list[tuple[str, int]]:
    """How many guessed what: each choice, or numbers in at most so many equal spans."""
    if isinstance(ask, ChoiceGuess):
        return [(option, sum(guess == option for guess in guesses)) for option in ask.options]
    numbers = sorted(float(guess) for guess in guesses if not isinstance(guess, str))
    if not numbers:
        return []
    low, high = numbers[0], numbers[-1]
    if len(set(numbers)) <= most:
        return [(said(ask, number), numbers.count(number)) for number in sorted(set(numbers))]
    width = (high - low) / most
    found = [0] * most
    for number in numbers:
        found[min(int((number - low) / width), most - 1)] += 1
    return [
        (f"{said(ask, low + place * width)} to {said(ask, low + (place + 1) * width)}", count)
        for place, count in enumerate(found)
    ]
