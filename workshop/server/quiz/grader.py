"""Marks of a question's answers. In a round everybody gets the same numbers, so equal answers are judged once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from functools import partial
from typing import Any

from workshop.quiz import grading
from workshop.quiz.deck import Place
from workshop.quiz.grading import Mark
from workshop.quiz.question_view import Asked
from workshop.server import worker_gate
from workshop.server.limits import Who


class Judging:
    def __init__(self, asked: Asked, truth: float | None = None) -> None:
        self.asked = asked
        self.truth = truth
        self._marks: dict[str, Mark] = {}
        self._one = asyncio.Lock()

    async def judge(self, answers: Iterable[Any]) -> None:
        """Judge those that aren't yet, in a thread; placements, each of which takes the mapper a fifth of a second, one
        by one through the gate for such work. Raises WorkshopError where the mapper can't tell."""
        async with self._one:
            missing = {_key(answer): answer for answer in answers if _key(answer) not in self._marks}
            if not isinstance(self.asked.question, Place):
                if missing:
                    self._marks |= await asyncio.to_thread(self._grade, missing)
                return
            for key, answer in missing.items():
                who = Who(self)  # a question has its own share, whoever hosts it
                self._marks |= await worker_gate.gate().do(who, partial(self._grade, {key: answer}), reserved=True)

    def mark(self, answer: Any) -> Mark:
        """Of an answer that was judged. Raises KeyError."""
        return self._marks[_key(answer)]

    def right(self, answer: Any) -> bool | None:
        """Whether an answer is right; None also where nothing could judge it."""
        mark = self._marks.get(_key(answer))
        return None if mark is None else mark.right

    def feedback(self, answer: Any) -> tuple[str, ...]:
        mark = self._marks.get(_key(answer))
        return () if mark is None else mark.feedback

    def _grade(self, answers: dict[str, Any]) -> dict[str, Mark]:
        return {key: grading.grade(self.asked, answer, self.truth) for key, answer in answers.items()}


def _key(answer: Any) -> str:
    return json.dumps(answer, sort_keys=True)
