"""Questions to learners, their guesses, and how near these are. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.study.guided.step_results import StepResults, name

NEAR = 0.15  # share of the measured value within which a guess is right
LOOKED = "shown"  # stored key for learners who looked without a guess


@dataclass(frozen=True)
class NumberGuess:
    """A guess that is a number. Its unit may be x: times as fast."""

    question: str
    unit: str
    low: float = -1e12
    high: float = 1e12
    step: float = 0.01


@dataclass(frozen=True)
class ChoiceGuess:
    """A guess that is one of several."""

    question: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The measured answer: a number, or the best option and options that may be equally good."""

    value: float | str
    ties: tuple[str, ...] = ()
    margin: float = 0.0  # uncertainty of a number


Ask = NumberGuess | ChoiceGuess


def check(ask: Ask, value: Any) -> float | str:
    """A guess in the form in which it is stored. Raises BadInput for an invalid guess."""
    if isinstance(ask, ChoiceGuess):
        if value not in ask.options:
            raise BadInput(f"The guess is {str(value)[:40]!r}; it should be {words.listed(ask.options)}.")
        return str(value)
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not usable or not ask.low <= value <= ask.high:
        raise BadInput(f"The guess is {str(value)[:40]}; it should be a number from {ask.low:g} to {ask.high:g}.")
    return float(value)


def in_words(ask: Ask, value: float | str) -> str:
    """A guess or an answer in words: 1.50×, 40 %, 25 threads, 3 MB."""
    if isinstance(ask, ChoiceGuess) or isinstance(value, str):
        return str(value)
    return words.times(value) if ask.unit == "x" else words.quantity(value, ask.unit)


def right(ask: Ask, guess: float | str, answer: Answer) -> bool:
    """Whether a guess is right within the uncertainty."""
    if isinstance(guess, str) or isinstance(answer.value, str):
        return guess == answer.value or guess in answer.ties
    slack = max(NEAR * abs(answer.value), answer.margin)
    return abs(guess - answer.value) <= slack


def score(ask: Ask, guess: float | str, answer: Answer) -> str:
    """One sentence with the guess and the measured answer."""
    guess_text, measured = in_words(ask, guess), in_words(ask, answer.value)
    if isinstance(guess, str) or isinstance(answer.value, str):
        if guess == answer.value:
            return f"You guessed {guess_text}, and so it is."
        if guess in answer.ties:
            return f"You guessed {guess_text}. Measured: {measured}, but the two can't be told apart, so you are right."
        return f"You guessed {guess_text}. Measured: {measured}."
    if right(ask, guess, answer):
        return f"You guessed {guess_text}, measured {measured}: that is near enough."
    side = "too high" if guess > answer.value else "too low"
    if getattr(ask, "unit", "") in ("x", "points") or answer.value <= 0:
        return f"You guessed {guess_text}, measured {measured}: {side}."
    by = max(guess, answer.value) / max(min(guess, answer.value), 1e-9)
    far = f"{by:.1f} times" if by < 100 else "far"
    return f"You guessed {guess_text}, measured {measured}: {far} {side}."


def stored_guess(value: Any) -> float | str | None:
    """The guess from its stored form; None for somebody who only looked."""
    return value.get("guess") if isinstance(value, dict) else None


def tally(ask: Ask, guesses: Sequence[float | str], most: int = 8) -> list[tuple[str, int]]:
    """The number of guesses for each option, or for at most `most` equal ranges of numbers."""
    if isinstance(ask, ChoiceGuess):
        return [(option, sum(guess == option for guess in guesses)) for option in ask.options]
    numbers = sorted(float(guess) for guess in guesses if not isinstance(guess, str))
    if not numbers:
        return []
    low, high = numbers[0], numbers[-1]
    if len(set(numbers)) <= most:
        return [(in_words(ask, number), numbers.count(number)) for number in sorted(set(numbers))]
    edges = [low + place * (high - low) / most for place in range(most + 1)]
    places = [min(bisect_right(edges, number) - 1, most - 1) for number in numbers]
    names = [f"{in_words(ask, begin)} to {in_words(ask, end)}" for begin, end in pairwise(edges)]
    return [(text, places.count(place)) for place, text in enumerate(names)]


def ask(findings: StepResults, step_key: str) -> Ask:
    """A step's question. The options of a choice are the cells of the step."""
    step = findings.setting.guide.step(step_key)
    if step.number:
        return NumberGuess(step.question, *step.number)
    return ChoiceGuess(step.question, tuple(map(name, findings.results(step_key))))


def answer(findings: StepResults, step_key: str, facts: Mapping[str, Any]) -> Answer | None:
    """The answer to a step's question, given its facts; None while it is unknown."""
    step = findings.setting.guide.step(step_key)
    if not findings.done(step_key):
        return None
    if step.number:
        value, margin = facts.get(step.answer), facts.get(f"{step.answer}_margin", 0.0)
        return Answer(float(value), margin=margin) if value is not None else None
    return Answer(facts["best"], tuple(facts.get("ties", ()))) if "best" in facts else None
