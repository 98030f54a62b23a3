"""A question of a round: what is slow to make is made once, in a thread, and equal answers are judged once, since
everybody gets the same numbers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any

from workshop.quiz.deck import Deck, ask
from workshop.quiz.results.answers import distribution
from workshop.quiz.types import Mark, Question
from workshop.store.records import QuizAnswer, QuizRound


class RoundQuestion:
    def __init__(self, record: QuizRound, deck: Deck, question: Question) -> None:
        # One text for all, since the projector shows one: the seed is the round's.
        self.drawn = ask(deck, question, record.seed)
        self.question = question
        self.worth = deck.points_of(question)
        self.limit = deck.seconds_of(question)
        self.shown = question.view(self.drawn, lambda _: f"/quiz/{record.id}/picture/{question.id}")
        self.truth: float | None = None
        self._marks: dict[str, Mark] = {}
        self._solution: dict[str, Any] | None = None
        self._one = asyncio.Lock()

    def take_truth(self, truth: float) -> None:
        """Judge by what was measured from now on."""
        self.truth, self._marks, self._solution = truth, {}, None

    def solution(self) -> dict[str, Any]:
        """The solution, which may be shown once the question is explained."""
        if self._solution is None:
            self._solution = self.question.solution(self.drawn, self.truth)
        return self._solution

    async def judge(self, answers: Iterable[Any]) -> None:
        """Judge those that aren't yet, in a thread. Raises WorkshopError where the mapper can't tell."""
        async with self._one:
            missing = {_key(answer): answer for answer in answers if _key(answer) not in self._marks}
            if missing:
                self._marks |= await asyncio.to_thread(self._grade, missing)

    def mark(self, answer: Any) -> Mark | None:
        """Of an answer; None where it was not judged."""
        return self._marks.get(_key(answer))

    def right(self, answer: Any) -> bool | None:
        """Whether an answer is right; None also where nothing could judge it."""
        mark = self.mark(answer)
        return None if mark is None else mark.right

    def distribution(self, answers: Sequence[QuizAnswer], *, marked: bool) -> dict[str, Any]:
        """How these answers are spread; `marked`: with what is right."""
        return distribution(self.drawn, [answer.answer for answer in answers], self.right if marked else None)

    def _grade(self, answers: dict[str, Any]) -> dict[str, Mark]:
        return {key: self.question.grade(self.drawn, answer, self.truth) for key, answer in answers.items()}


def _key(answer: Any) -> str:
    return json.dumps(answer, sort_keys=True)
