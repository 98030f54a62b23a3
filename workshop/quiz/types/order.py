"""Items to be put in order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.core.errors import BadInput
from workshop.quiz import rendering
from workshop.quiz.parts import Markdown, Picture
from workshop.quiz.rendering import html
from workshop.quiz.types.base import DrawnQuestion, Fault, Mark, Question, keyed, mixed, read_keys, repeated


class Order(Question):
    """Items to be put in order. The deck lists them in the right order, which is never shown. So there are at least
    three: of two items, the only other order would reveal the answer."""

    what: ClassVar[str] = "items to be put in order"
    form: ClassVar[str] = "order"

    type: Literal["order"] = Field(description="items to be put in order")
    items: tuple[Markdown, ...] = Field(min_length=3, max_length=10, description="Markdown, in the right order")

    def faults(self) -> Iterator[Fault]:
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
        lines = "".join(f"<li>{html(item, variant.numbers)}</li>" for item in self.items)
        keys = self.sent(variant, range(len(self.items)))
        return super().solution(variant) | {"html": f"<ol>{lines}</ol>", "order": keys}

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
