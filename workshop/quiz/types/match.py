"""Right sides to be matched to left sides, and items to be put in order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz import rendering
from workshop.quiz.form_errors import Mistake
from workshop.quiz.parts import LETTERS, Markdown, Pair, Picture
from workshop.quiz.rendering import ANSWERS, html, plain
from workshop.quiz.types.base import (
    DrawnQuestion,
    Mark,
    Question,
    keyed,
    mixed,
    quoted,
    read_key,
    read_keys,
    repeated,
)


class Match(Question):
    """Match right sides to left sides; `extra` are right sides that belong to nothing."""

    what: ClassVar[str] = "pairs to be matched"
    form: ClassVar[str] = "match"

    type: Literal["match"] = Field(description="what belongs together")
    pairs: tuple[Pair, ...] = Field(min_length=2, max_length=10, description="what belongs together")
    extra: tuple[Markdown, ...] = Field((), max_length=5, description="Markdown; what belongs to nothing on the left")

    @property
    def rights(self) -> tuple[str, ...]:
        """All right sides that can be chosen: number i belongs to pair i."""
        return (*(pair.right for pair in self.pairs), *self.extra)

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        yield from repeated("pairs", "the left", (pair.left for pair in self.pairs))
        yield from repeated("pairs", "the right", self.rights)

    def places(self, chance: random.Random, shuffle: bool) -> list[int]:
        """Always shuffled: the deck's order is the answer."""
        return mixed(self.rights, chance)

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        lefts = [{"key": str(place), "html": html(pair.left, variant.numbers)} for place, pair in self._numbered()]
        return super().view(variant, picture) | {"lefts": lefts, "rights": keyed(variant, self.rights)}

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        rows = [(html(pair.left, variant.numbers), html(pair.right, variant.numbers)) for pair in self.pairs]
        keys = self.sent(variant, range(len(self.pairs)))
        return super().solution(variant) | {"html": ANSWERS.pairs(rows), "match": keys}

    def lines(self, variant: DrawnQuestion, answers: bool) -> Iterator[tuple[str, str, str]]:
        if answers:
            for pair in self.pairs:
                text = f"{plain(pair.left, variant.numbers)} -> {plain(pair.right, variant.numbers)}"
                yield text, "   - ", "     "
            for extra in self.extra:
                yield f"{plain(extra, variant.numbers)} belongs to nothing", "   - ", "     "
            return
        for number, pair in self._numbered():
            yield plain(pair.left, variant.numbers), f"   {number}. ", "      "
        for letter, number in zip(LETTERS, variant.order, strict=False):
            yield plain(self.rights[number], variant.numbers), f"   {letter}) ", "      "

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        lefts = [str(number) for number, _ in self._numbered()]
        if not isinstance(raw, Mapping) or set(raw) != set(lefts):
            raise BadInput(f"{quoted(raw)} should say for each of {words.listed(lefts)} what belongs to it.")
        return [read_key(variant, raw[key]) for key in lefts]

    def sent(self, variant: DrawnQuestion, answer: Any) -> Any:
        return {str(place): variant.key(right) for place, right in enumerate(answer, 1)}

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        right = sum(place == chosen for place, chosen in enumerate(answer))
        return Mark(right / len(self.pairs), right == len(self.pairs))

    def _numbered(self) -> Iterator[tuple[int, Pair]]:
        return enumerate(self.pairs, 1)


class Order(Question):
    """Items to be put in order. The deck lists them in the right order, which is never shown. So there are at least
    three: of two items, the only other order would reveal the answer."""

    what: ClassVar[str] = "items to be put in order"
    form: ClassVar[str] = "order"

    type: Literal["order"] = Field(description="items to be put in order")
    items: tuple[Markdown, ...] = Field(min_length=3, max_length=10, description="Markdown, in the right order")

    def faults(self) -> Iterator[Mistake]:
        yield from super().faults()
        yield from repeated("items", "items: the item", self.items)

    def places(self, chance: random.Random, shuffle: bool) -> list[int]:
        """Always shuffled: the deck's order is the answer."""
        places = mixed(self.items, chance)
        while places == sorted(places):
            places = mixed(self.items, chance)
        return places

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        return super().view(variant, picture) | {"items": keyed(variant, self.items)}

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        lines = ANSWERS.items([html(item, variant.numbers) for item in self.items])
        keys = self.sent(variant, range(len(self.items)))
        return super().solution(variant) | {"html": lines, "order": keys}

    def lines(self, variant: DrawnQuestion, answers: bool) -> Iterator[tuple[str, str, str]]:
        for place, number in enumerate(range(len(self.items)) if answers else variant.order, 1):
            mark = f"   {place}. " if answers else "   - "
            yield rendering.plain(self.items[number], variant.numbers), mark, " " * len(mark)

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        numbers = read_keys(variant, raw, "put in order")
        if len(numbers) != len(variant.order):
            raise BadInput(f"{len(numbers)} are in order; it should be all {len(variant.order)}.")
        return numbers

    def sent(self, variant: DrawnQuestion, answer: Any) -> Any:
        return [variant.key(number) for number in answer]

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        return Mark(ordered(answer), list(answer) == sorted(answer))


def ordered(places: Sequence[int]) -> float:
    """The quality of an order, from 0 (random or worse) to 1 (right): Kendall's tau, at least 0."""
    pairs = list(combinations(places, 2))
    return max(0.0, 2 * sum(first < second for first, second in pairs) / len(pairs) - 1)
