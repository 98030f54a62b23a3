"""Any number of options is right, at least one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from workshop.core import words
from workshop.quiz.randomisation import DrawnQuestion
from workshop.quiz.types.base import Fault, Mark, read_keys
from workshop.quiz.types.choice import Choice


class Multiple(Choice):
    """Any number of options is right, at least one."""

    what: ClassVar[str] = "a choice of several options"
    form: ClassVar[str] = "choices"

    type: Literal["multiple"] = Field(description="any number of options is right")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if not self.right:
            yield ("options",), "options: none of them is right; at least one should be"

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        return sorted(read_keys(variant, raw, "chosen"))

    def sent(self, variant: DrawnQuestion, answer: Any) -> Any:
        return sorted(variant.key(number) for number in answer)

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        """Each wrong option cancels a right one."""
        right, chosen = set(self.right), set(answer)
        share = max(0.0, (len(chosen & right) - len(chosen - right)) / len(right))
        feedback = self.feedback(variant, answer)
        if missed := len(right - chosen):
            feedback += (f"<p>{words.count(missed, 'right answer')} {words.verb(missed)} missing.</p>",)
        return Mark(share, chosen == right, feedback)
