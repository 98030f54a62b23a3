"""Match right sides to left sides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz.parts import Markdown, Pair, Picture
from workshop.quiz.randomisation import LETTERS, DrawnQuestion
from workshop.quiz.rendering import html
from workshop.quiz.rendering import plain as text_of
from workshop.quiz.types.base import Fault, Mark, Question, keyed, mixed, quoted, read_key, repeated
from workshop.quiz.types.rows import AnswerChoice, plain, row

if TYPE_CHECKING:
    from workshop.quiz.results.record import Results


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
                text = f"{text_of(pair.left, variant.numbers)} -> {text_of(pair.right, variant.numbers)}"
                yield text, "   - ", "     "
            for extra in self.extra:
                yield f"{text_of(extra, variant.numbers)} belongs to nothing", "   - ", "     "
            return
        for number, pair in self._numbered():
            yield text_of(pair.left, variant.numbers), f"   {number}. ", "      "
        for letter, number in zip(LETTERS, variant.order, strict=False):
            yield text_of(self.rights[number], variant.numbers), f"   {letter}) ", "      "

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

    def line(self, variant: DrawnQuestion, answer: Any) -> str:
        return " ".join(f"{place}{right}" for place, right in self.sent(variant, answer).items())

    def results(self, results: Results) -> Iterable[AnswerChoice]:
        """A row for each right pair, and for each other pair that was answered."""
        rights = [plain(results, self, right) for right in self.rights]
        answers = results.answers_to(self.id)
        for place, pair in enumerate(self.pairs):
            name = plain(results, self, pair.left)
            for right, partner in enumerate(rights):
                same = [answer for answer in answers if answer.answer[place] == right]
                if same or place == right:
                    yield row(f"pair {place + 1}", f"{name} – {partner}", place == right, same)

    def words(self, results: Results, answer: Any) -> str | float:
        lefts = [plain(results, self, pair.left) for pair in self.pairs]
        rights = [plain(results, self, self.rights[place]) for place in answer]
        return "; ".join(f"{partner} – {right}" for partner, right in zip(lefts, rights, strict=True))

    def _numbered(self) -> Iterator[tuple[int, Pair]]:
        return enumerate(self.pairs, 1)
