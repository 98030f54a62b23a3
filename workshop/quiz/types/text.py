"""A few words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.quiz import text_input
from workshop.quiz.form_errors import DeckMistake
from workshop.quiz.parts import Line, NearText
from workshop.quiz.rendering import html
from workshop.quiz.types.base import DrawnQuestion, Fault, Mark, Question


class Text(Question):
    """A few words; case and spaces don't matter."""

    what: ClassVar[str] = "an answer in words"
    form: ClassVar[str] = "text"

    type: Literal["text"] = Field(description="a few words")
    accept: tuple[Line, ...] = Field(min_length=1, max_length=50, description="right forms; the first one is shown")
    near: tuple[NearText, ...] = Field((), max_length=10, description="wrong answers with feedback of their own")

    def problems(self) -> Iterator[DeckMistake]:
        """Report forms of an answer that are equal in comparisons, and forms that nobody can type."""
        described: dict[str, str] = {}
        forms: list[Fault] = [(("accept", place), form) for place, form in enumerate(self.accept)]
        for place, near in enumerate(self.near):
            forms += [(("near", place, "accept", at), form) for at, form in enumerate(near.accept)]
        for path, form in forms:
            folded = text_input.normalised(form)
            if folded in described:
                same = f"{form!r} is the same as {described[folded]}: case, spaces and apostrophes don't matter"
                yield DeckMistake(path, same)
            elif not folded or len(form) > text_input.LONGEST_ANSWER:
                longest = f"nobody can answer {form[:40]!r}; it should be 1 to {text_input.LONGEST_ANSWER} characters"
                yield DeckMistake(path, longest)
            else:
                described[folded] = f"{form!r} in {'accept' if path[0] == 'accept' else f'near.{path[1]}'}"

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        return super().solution(variant) | {"html": f"<p>{escape(self.accept[0], quote=False)}</p>"}

    def right_words(self, variant: DrawnQuestion) -> str:
        return ", or ".join(self.accept)

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        return text_input.text(raw)

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        if _among(answer, self.accept):
            return Mark(1.0, True)
        feedback = (html(near.feedback, variant.numbers) for near in self.near if _among(answer, near.accept))
        return Mark(0.0, False, tuple(feedback)[:1])

    def hits(self, variant: DrawnQuestion, near: Any, answer: Any) -> bool:
        return _among(answer, near.accept)


def _among(answer: str, forms: Sequence[str]) -> bool:
    return text_input.normalised(answer) in map(text_input.normalised, forms)
