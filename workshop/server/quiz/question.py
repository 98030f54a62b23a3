"""A question of a round, ready to be shown: what of it is slow to make is made once, in a thread."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from workshop.quiz import question_view as asking
from workshop.quiz.deck import Base, Deck
from workshop.quiz.deck import Predict as Measured
from workshop.server.quiz.grader import Judging
from workshop.store.records import QuizRound


class Asking:
    def __init__(self, record: QuizRound, deck: Deck, question: Base) -> None:
        # One text for all, since the projector shows one: the seed is the round's.
        self.asked = asking.ask(deck, question, record.seed)
        self.question = question
        self.worth = deck.points_of(question)
        self.limit = deck.seconds_of(question)
        self.shown = asking.shown(self.asked, lambda _: f"/quiz/{record.id}/picture/{question.id}")
        self.judging = Judging(self.asked)
        self._solutions: dict[float | None, dict[str, Any]] = {}

    @cached_property
    def measured(self) -> bool:
        return isinstance(self.question, Measured)

    def take_truth(self, truth: float | None) -> None:
        """Judge by what was measured from now on."""
        if truth != self.judging.truth:
            self.judging = Judging(self.asked, truth)

    def solution(self) -> dict[str, Any]:
        """What may be shown once it is explained."""
        truth = self.judging.truth
        if truth not in self._solutions:
            self._solutions[truth] = asking.solution(self.asked, truth)
        return self._solutions[truth]
