"""A poll: no option is right, and there are no points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.quiz.randomisation import DrawnQuestion
from workshop.quiz.types.base import Fault, Mark
from workshop.quiz.types.choice import WithOptions


class Poll(WithOptions):
    """A poll: no option is right, and there are no points."""

    what: ClassVar[str] = "a poll, where nothing is right"
    marked: ClassVar[bool] = False

    type: Literal["poll"] = Field(description="nothing is right; what people think")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self.points:
            yield ("points",), "a poll has no points"

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        return Mark(0.0, None)
