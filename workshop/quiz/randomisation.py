"""Draws the variant of a question that a learner gets: its numbers, and the order of its parts."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workshop.core import words
from workshop.quiz.parts import Range

if TYPE_CHECKING:
    from workshop.quiz.deck import Deck
    from workshop.quiz.types import Question
    from workshop.store.records import QuizPlayer, QuizRound

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FEW_COMBINATIONS = 400  # combinations of numbers that are all tried


@dataclass(frozen=True)
class DrawnQuestion:
    """The variant of a question that a learner gets.

    `order` has the deck's number (from 0) of the option, item or right side that is shown at each place. It is empty
    for questions without such parts. The left sides of a match stay in the deck's order.
    """

    deck: Deck
    question: Question
    numbers: Mapping[str, float]
    order: tuple[int, ...]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The letter of each place."""
        return tuple(LETTERS[: len(self.order)])

    def key(self, number: int) -> str:
        """The letter under which an option, item or right side of the deck is shown."""
        return LETTERS[self.order.index(number)]

    def number(self, key: str) -> int:
        """The inverse of `key`. Raises KeyError for an unused letter."""
        if key not in self.keys:
            raise KeyError(key)
        return self.order[self.keys.index(key)]


def ask(deck: Deck, question: Question, seed: str) -> DrawnQuestion:
    """The variant for this seed: the same seed gives the same numbers and the same order on any machine.

    Options keep the deck's order if the question or the deck says so.
    """
    numbers = {
        name: _draw(choices, random.Random(f"{seed}/{question.id}/number/{name}"))
        for name, choices in question.numbers.items()
    }
    places = question.places(random.Random(f"{seed}/{question.id}/order"), deck.shuffles(question))
    return DrawnQuestion(deck, question, numbers, tuple(places))


def attempt_seed(quiz_round: QuizRound, player: QuizPlayer) -> str:
    """The seed of a learner in self-study; each attempt has another one."""
    who = player.nickname if player.identity_id is None else player.identity_id
    return f"{quiz_round.seed}/{who}/{player.attempt}"


def _draw(choices: Range, chance: random.Random) -> float:
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
        yield {name: _draw(choices, chance) for name, choices in numbers.items()}


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
