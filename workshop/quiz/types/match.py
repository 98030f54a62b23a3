"""Match right sides to left sides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz.parts import Markdown, Pair, Picture
from workshop.quiz.randomisation import LETTERS
from workshop.quiz.rendering import html, plain
from workshop.quiz.types.base import DrawnQuestion, Fault, Mark, Question, keyed, mixed, quoted, read_key, repeated


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

    def faults(self) -> Iterator[Fault]:
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
        rows = "".join(
            f"<tr><td>{html(pair.left, variant.numbers)}</td><td>{html(pair.right, variant.numbers)}</td></tr>"
            for pair in self.pairs
        )
        keys = self.sent(variant, range(len(self.pairs)))
        return super().solution(variant) | {"html": f"<table><tbody>{rows}</tbody></table>", "match": keys}

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
