"""One option is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.quiz.randomisation import DrawnQuestion
from workshop.quiz.types.base import Fault, Mark
from workshop.quiz.types.choice import Choice


class Single(Choice):
    """One option is right."""

    what: ClassVar[str] = "a single choice"

    type: Literal["single"] = Field(description="one option is right")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if len(self.right) != 1:
            yield ("options",), f"options: {len(self.right)} of them are right; a single choice has one"

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        right = answer in self.right
        return Mark(float(right), right, self.feedback(variant, [answer]))

    def guessed(self) -> float | None:
        return 1 / len(self.options)
