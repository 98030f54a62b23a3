"""What is known of a round: its deck, who took part, and what they answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from workshop.quiz.deck import Base, Deck


@dataclass(frozen=True)
class Player:
    """Somebody who took part and hasn't been removed."""

    id: int
    nickname: str
    identity_id: int | None = None  # by which somebody is known in two rounds


@dataclass(frozen=True)
class RoundAnswer:
    """One answer, with its mark where there is one."""

    question: str
    player: int
    answer: Any  # canonical, see `workshop.quiz.question_view`
    seconds: float | None = None  # since the question was opened
    share: float | None = None  # of the question's marks; None: a poll, or not judged yet
    right: bool | None = None
    points: float | None = None  # with a bonus for speed, where the round had one
    near: int | None = None  # the number of the question's `near` that it hit


@dataclass(frozen=True)
class Results:
    """A round as it is counted. Answers are of its players and of questions that were asked, one of each."""

    round: int
    title: str
    deck: Deck
    asked: tuple[str, ...]  # questions, in the order in which they were asked
    players: tuple[Player, ...]
    answers: tuple[RoundAnswer, ...]
    began: float = 0.0
    timed: bool = True  # whether questions had a time limit
    absent: Mapping[str, frozenset[int]] = field(default_factory=dict)  # who came after a question was over
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of questions that all had alike
    truths: Mapping[str, float] = field(default_factory=dict)  # right numbers that were the same for all
    notes: tuple[str, ...] = ()  # what doesn't count and why, in sentences

    @cached_property
    def questions(self) -> tuple[Base, ...]:
        return tuple(self.deck.question(id) for id in self.asked)

    @cached_property
    def _by_question(self) -> Mapping[str, tuple[RoundAnswer, ...]]:
        return {id: tuple(one for one in self.answers if one.question == id) for id in self.asked}

    @cached_property
    def _by_player(self) -> Mapping[int, Mapping[str, RoundAnswer]]:
        found: dict[int, dict[str, RoundAnswer]] = {player.id: {} for player in self.players}
        for one in self.answers:
            found[one.player][one.question] = one
        return found

    def of(self, question: str) -> tuple[RoundAnswer, ...]:
        return self._by_question[question]

    def by(self, player: int) -> Mapping[str, RoundAnswer]:
        """Somebody's answers by question."""
        return self._by_player[player]

    @cached_property
    def _there(self) -> Mapping[str, frozenset[int]]:
        everybody = frozenset(player.id for player in self.players)
        late = {id: self.absent.get(id, frozenset()) - {one.player for one in self.of(id)} for id in self.asked}
        return {id: everybody - late[id] for id in self.asked}

    def there(self, question: str) -> frozenset[int]:
        """Players who were there while a question was open, or answered it."""
        return self._there[question]

    @cached_property
    def _judged(self) -> Mapping[str, tuple[RoundAnswer, ...]]:
        return {id: tuple(one for one in self.of(id) if one.share is not None) for id in self.asked}

    def judged(self, question: str) -> tuple[RoundAnswer, ...]:
        """Its answers that have a mark."""
        return self._judged[question]

    def counts(self, question: str) -> bool:
        """Whether it has marks: a poll and a prediction that was never measured have none."""
        return bool(self.judged(question)) or self.deck.question(question).type not in ("poll", "predict")

    def anonymous(self) -> Results:
        """The same with learner-1, learner-2, … for nicknames."""
        players = tuple(replace(player, nickname=f"learner-{number}") for number, player in enumerate(self.players, 1))
        return replace(self, players=players)
