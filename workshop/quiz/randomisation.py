"""The numbers of questions: their values for each learner, and how they are written."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping

from workshop.core import words
from workshop.quiz.parts import Range

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FEW_COMBINATIONS = 400  # combinations of numbers that are all tried


def draw(choices: Range, chance: random.Random) -> float:
    """One of the values, by chance."""
    if choices.values:
        return chance.choice(choices.values)
    return _step(choices, chance.randint(0, steps(choices)))


def steps(choices: Range) -> int:
    """The number of steps from low to high."""
    assert choices.low is not None and choices.high is not None, "no single values"
    return math.floor((choices.high - choices.low) / choices.step + 1e-9)


def _step(choices: Range, number: int) -> float:
    """The value after so many steps, without rounding errors: 0.3, not 0.30000000000000004."""
    return float(f"{(choices.low or 0.0) + number * choices.step:.12g}") + 0.0


def combinations(numbers: Mapping[str, Range]) -> Iterator[dict[str, float]]:
    """Combinations of values for a question's numbers: all of them if there are few; otherwise the ends of all ranges
    and a few hundred random ones, the same in each call."""
    if math.prod(len(choices.values) or steps(choices) + 1 for choices in numbers.values()) <= FEW_COMBINATIONS:
        values = [
            choices.values or [_step(choices, at) for at in range(steps(choices) + 1)] for choices in numbers.values()
        ]
        yield from (dict(zip(numbers, combination, strict=True)) for combination in itertools.product(*values))
        return
    ends = [
        (min(choices.values), max(choices.values))
        if choices.values
        else (_step(choices, 0), _step(choices, steps(choices)))
        for choices in numbers.values()
    ]
    for combination in itertools.islice(itertools.product(*ends), FEW_COMBINATIONS):
        yield dict(zip(numbers, combination, strict=True))
    chance = random.Random("combinations")
    for _ in range(FEW_COMBINATIONS):
        yield {name: draw(choices, chance) for name, choices in numbers.items()}


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
