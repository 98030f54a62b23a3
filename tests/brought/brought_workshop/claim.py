"""A claim, which is true or false."""

from typing import Any, ClassVar, Literal

from workshop.core.errors import BadInput
from workshop.quiz.types import Mark, Question
from workshop.quiz.types.rows import others


class Claim(Question):
    """True or false, in a word."""

    what: ClassVar[str] = "a claim"

    type: Literal["claim"]
    holds: bool

    def read(self, drawn: Any, raw: Any) -> Any:
        if raw not in ("true", "false"):
            raise BadInput("A claim is true or false.")
        return raw == "true"

    def sent(self, drawn: Any, answer: Any) -> Any:
        return str(answer).lower()

    def solution(self, drawn: Any, truth: float | None = None) -> dict[str, Any]:
        return super().solution(drawn) | {"html": f"<p>{self.sent(drawn, self.holds)}</p>"}

    def grade(self, drawn: Any, answer: Any, truth: float | None = None) -> Mark:
        return Mark(float(answer == self.holds), answer == self.holds)

    def results(self, results: Any) -> Any:
        return others(results.answers_to(self.id), str)
