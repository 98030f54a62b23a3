"""A question as somebody gets it: its numbers drawn, and in which order its parts are shown."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workshop.core import words
from workshop.quiz.deck import Base, Choice, Deck, Match, Order, Poll
from workshop.quiz.parts import Range

if TYPE_CHECKING:
    from workshop.store.records import QuizPlayer, QuizRound

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FEW = 400  # combinations of numbers that are all tried


@dataclass(frozen=True)
class DrawnQuestion:
    """A question as somebody gets it.

    `order` says which option, item or right of the deck (its number from 0) is shown at each place; it is empty for
    questions that have none. What is on the left of a match stays in place.
    """

    deck: Deck
    question: Base
    numbers: Mapping[str, float]
    order: tuple[int, ...]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The letter of each place."""
        return tuple(LETTERS[: len(self.order)])

    def key(self, number: int) -> str:
        """The letter under which an option, item or right of the deck is shown."""
        return LETTERS[self.order.index(number)]

    def number(self, key: str) -> int:
        """The inverse of `key`. Raises KeyError for a letter that isn't shown."""
        if key not in self.keys:
            raise KeyError(key)
        return self.order[self.keys.index(key)]


def ask(deck: Deck, question: Base, seed: str) -> DrawnQuestion:
    """The question for whoever has this seed: the same seed gives the same numbers and the same order, on any machine.

    Options keep the deck's order where the question or the deck says so. What is put in order, and the rights of a
    match, are always shuffled: their order in the deck is the answer.
    """
    numbers = {
        name: _draw(given, random.Random(f"{seed}/{question.id}/number/{name}"))
        for name, given in question.numbers.items()
    }
    return DrawnQuestion(deck, question, numbers, _order(deck, question, random.Random(f"{seed}/{question.id}/order")))


def attempt_seed(this: QuizRound, player: QuizPlayer) -> str:
    """The seed of somebody who learns alone: one of their own for each attempt."""
    who = player.nickname if player.identity_id is None else player.identity_id
    return f"{this.seed}/{who}/{player.attempt}"


def _order(deck: Deck, question: Base, chance: random.Random) -> tuple[int, ...]:
    match question:
        case Choice() | Poll():
            places = list(range(len(question.options)))
            if deck.shuffles(question):
                chance.shuffle(places)
        case Match():
            places = _mixed(question.rights, chance)
        case Order():
            places = _mixed(question.items, chance)
            while places == sorted(places):
                places = _mixed(question.items, chance)
        case _:
            places = []
    return tuple(places)


def _mixed(texts: tuple[str, ...], chance: random.Random) -> list[int]:
    """Shuffled from the order of the alphabet, so that nothing can be told of the deck's from what comes out."""
    places = sorted(range(len(texts)), key=texts.__getitem__)
    chance.shuffle(places)
    return places


def _draw(given: Range, chance: random.Random) -> float:
    if given.values:
        return chance.choice(given.values)
    return _step(given, chance.randint(0, steps(given)))


def steps(given: Range) -> int:
    """How many steps there are from low to high."""
    return math.floor((given.high - given.low) / given.step + 1e-9)


def _step(given: Range, number: int) -> float:
    """The value after so many steps, without the noise of its last digits: 0.3, not 0.30000000000000004."""
    return float(f"{given.low + number * given.step:.12g}") + 0.0


def combinations(numbers: Mapping[str, Range]) -> Iterator[dict[str, float]]:
    """What a question's numbers may be together: everything where that isn't much, else the ends of all ranges and a
    few hundred others, always the same ones."""
    if math.prod(len(one.values) or steps(one) + 1 for one in numbers.values()) <= FEW:
        values = [one.values or [_step(one, at) for at in range(steps(one) + 1)] for one in numbers.values()]
        yield from (dict(zip(numbers, some, strict=True)) for some in itertools.product(*values))
        return
    ends = [
        (min(one.values), max(one.values)) if one.values else (_step(one, 0), _step(one, steps(one)))
        for one in numbers.values()
    ]
    for some in itertools.islice(itertools.product(*ends), FEW):
        yield dict(zip(numbers, some, strict=True))
    chance = random.Random("combinations")
    for _ in range(FEW):
        yield {name: _draw(one, chance) for name, one in numbers.items()}


def measured(value: float) -> str:
    """A measured number: a whole one as it is, any other with three digits: 3, 1.87, 3,450."""
    return written(value) if value == round(value) and abs(value) < 1e6 else words.short(value)


def written(value: float) -> str:
    """A number as it stands in a question's text: 4, 0.25, 1e-06."""
    digits, e, power = f"{value + 0.0:.10g}".partition("e")
    return f"{digits}e{int(power)}" if e else digits
