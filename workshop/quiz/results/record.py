"""The record of a round: its deck, its players and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from workshop.quiz.deck import Deck
from workshop.quiz.types import Question


@dataclass(frozen=True)
class Player:
    """A player who took part and wasn't removed."""

    id: int
    nickname: str


@dataclass(frozen=True)
class RoundAnswer:
    """One answer, with its mark if it has one."""

    question: str
    player: int
    answer: Any  # the stored form, see `workshop.quiz.types.base.Question`
    seconds: float | None = None  # since the question was opened
    share: float | None = None  # of the question's marks; None: a poll, or not graded yet
    right: bool | None = None
    points: float | None = None  # including a speed bonus
    near: int | None = None  # index of the misconception in the question's `near`

    def is_graded(self) -> bool:
        return self.share is not None


@dataclass(frozen=True)
class Results:
    """The data of a round for statistics. There is at most one answer for each player and question of the record."""

    round: int
    title: str
    deck: Deck
    question_ids: tuple[str, ...]  # the asked questions, in their order
    players: tuple[Player, ...]
    answers: tuple[RoundAnswer, ...]
    began: float = 0.0
    absent: Mapping[str, frozenset[int]] = field(default_factory=dict)  # players who joined after a question was over
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of questions with equal numbers for all
    truths: Mapping[str, float] = field(default_factory=dict)  # right numbers that were the same for all
    notes: tuple[str, ...] = ()  # sentences about what doesn't count and why
    first_votes: tuple[RoundAnswer, ...] = ()  # of questions with a second vote, which is in `answers`

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        return tuple(self.deck.question(id) for id in self.question_ids)

    @cached_property
    def answers_to(self) -> Mapping[str, tuple[RoundAnswer, ...]]:
        """The answers to each question."""
        return {id: tuple(answer for answer in self.answers if answer.question == id) for id in self.question_ids}

    @cached_property
    def judged(self) -> Mapping[str, tuple[RoundAnswer, ...]]:
        """The graded answers to each question."""
        return {id: tuple(filter(RoundAnswer.is_graded, answers)) for id, answers in self.answers_to.items()}

    @cached_property
    def answers_by(self) -> Mapping[int, Mapping[str, RoundAnswer]]:
        """Each player's answers, by question."""
        by_player: dict[int, dict[str, RoundAnswer]] = {player.id: {} for player in self.players}
        for answer in self.answers:
            by_player[answer.player][answer.question] = answer
        return by_player

    @cached_property
    def present(self) -> Mapping[str, frozenset[int]]:
        """The players who were present while a question was open, or answered it."""
        everybody = frozenset(player.id for player in self.players)
        return {
            id: everybody - (self.absent.get(id, frozenset()) - {answer.player for answer in answers})
            for id, answers in self.answers_to.items()
        }

    def first_vote(self, question: str) -> Results | None:
        """These results with the first vote on a question in place of the second one; None where the class voted
        once."""
        first = [answer for answer in self.first_votes if answer.question == question]
        if not first:
            return None
        return replace(self, answers=(*(answer for answer in self.answers if answer.question != question), *first))

    def counts(self, question: str) -> bool:
        """Whether a question has marks: polls, and predictions that were never measured, have none."""
        deck_question = self.deck.question(question)
        return bool(self.judged[question]) or (deck_question.marked and not deck_question.measured)

    def anonymous(self) -> Results:
        """The same results with nicknames learner-1, learner-2, …"""
        players = tuple(replace(player, nickname=f"learner-{number}") for number, player in enumerate(self.players, 1))
        return replace(self, players=players)
