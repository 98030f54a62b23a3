"""The common parts of `number` and `predict`: questions whose answer is a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from workshop.quiz import text_input
from workshop.quiz.parts import Picture, Tolerance
from workshop.quiz.randomisation import DrawnQuestion
from workshop.quiz.types.base import Question
from workshop.quiz.types.rows import number

if TYPE_CHECKING:
    from workshop.quiz.results.record import Results

MOST_VALUES = 500  # values in a chart


class Quantity(Question):
    """A question whose answer is a number with a unit."""

    form: ClassVar[str] = "number"

    unit: str = Field("", max_length=40, description="shown beside the answer, which may have it behind the number")

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        return super().view(variant, picture) | {"unit": self.unit, "whole": False}

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        return text_input.number(raw, self.unit)

    def distribution(
        self, variant: DrawnQuestion, answers: Iterable[Any], is_right: Callable[[Any], bool | None] | None = None
    ) -> dict[str, Any]:
        return {"type": "numbers", "values": thinned(sorted(float(answer) for answer in answers))}

    def spread(self, results: Results) -> list[float]:
        if self.numbers and self.id not in results.truths:
            return []
        return sorted(float(answer.answer) for answer in results.answers_to(self.id))

    def words(self, results: Results, answer: Any) -> str | float:
        return float(answer) if isinstance(answer, float) else int(answer)

    def with_unit(self, value: float) -> str:
        """A number in the usual notation, with the unit."""
        return f"{number(value)} {self.unit}".strip()

    def quantity(self, value: str) -> str:
        """A number with the unit, as HTML."""
        return f"<p>{escape(f'{value} {self.unit}'.strip(), quote=False)}</p>"


def thinned(values: list[float], most: int = MOST_VALUES) -> list[float]:
    """At most `most` of the sorted numbers, evenly spaced, with the first and the last one."""
    values = [value for value in values if math.isfinite(value)]
    if len(values) <= most:
        return values
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]


def within(answer: float, right: float, tolerance: Tolerance) -> bool:
    """Whether a number is within the tolerance, including its edge; rounding errors don't matter."""
    allowed = tolerance.around(right)
    return abs(answer - right) <= allowed + 1e-12 * max(abs(right), abs(answer))
