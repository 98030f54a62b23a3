"""The numbers of questions: their values for each learner, and how they are written."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache

from workshop.core import words
from workshop.quiz.parts import Range

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FEW_COMBINATIONS = 400  # combinations of numbers that are all tried


@lru_cache
def values(choices: Range) -> tuple[float, ...]:
    """All values of a number, in the order of the deck."""
    if choices.values:
        return choices.values
    assert choices.low is not None and choices.high is not None, "no single values"
    steps = math.floor((choices.high - choices.low) / choices.step + 1e-9)
    # Without rounding errors: 0.3, not 0.30000000000000004.
    return tuple(float(f"{choices.low + number * choices.step:.12g}") + 0.0 for number in range(steps + 1))


def combinations(numbers: Mapping[str, Range]) -> Iterator[dict[str, float]]:
    """Combinations of values for a question's numbers: all of them if there are few; otherwise the ends of all ranges
    and a few hundred random ones, the same in each call."""
    of_each = [values(choices) for choices in numbers.values()]
    few = math.prod(map(len, of_each)) <= FEW_COMBINATIONS
    tried = itertools.product(*(of_each if few else [(min(of_one), max(of_one)) for of_one in of_each]))
    for combination in itertools.islice(tried, FEW_COMBINATIONS):
        yield dict(zip(numbers, combination, strict=True))
    chance = random.Random("combinations")
    for _ in range(0 if few else FEW_COMBINATIONS):
        yield {name: chance.choice(of_one) for name, of_one in zip(numbers, of_each, strict=True)}


def drawn_words(numbers: Mapping[str, float], before: str = "") -> str:
    """Numbers with their values as part of a sentence; empty if there are none."""
    values = words.listed(f"{name} = {written(value)}" for name, value in numbers.items())
    return f"{before}with {values}" if values else ""


def measured(value: float) -> str:
    """A measured or guessed number: integers are exact, others have three digits: 262,144, 1.87, 3.45 M."""
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e6 else words.quantity(value)


def written(value: float) -> str:
    """A number as it is written in a question's text: 4, 0.25, 1e-06."""
    digits, e, power = f"{value + 0.0:.10g}".partition("e")
    return f"{digits}e{int(power)}" if e else digits
