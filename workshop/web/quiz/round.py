"""What is known of a live round: its deck, state, participants and question, from which its messages are made."""

from __future__ import annotations

from workshop.quiz import live
from workshop.quiz.deck import Deck
from workshop.quiz.live import RoundState
from workshop.store.records import QuizRound
from workshop.web.quiz.participants import Participants
from workshop.web.quiz.question import RoundQuestion


class LiveRound:
    def __init__(self, record: QuizRound) -> None:
        self.record = record
        self.participants = Participants()
        self.deck = Deck.model_validate(record.deck)
        self.ids = [question.id for question in self.deck.questions]
        self.state = RoundState.from_json(record.state)
        self.current: RoundQuestion | None = None  # the question that is open, or was the last one
        self.progress: tuple[float, float] | None = None  # of what is being measured

    @property
    def ranked(self) -> bool:
        return bool(self.record.settings.get("ranking", True))

    @property
    def twice(self) -> bool:
        """Whether the class may vote twice on the question."""
        marked = self.current is not None and (self.current.question.marked or self.current.question.measured)
        return marked and bool(self.record.settings.get("vote_twice"))

    @property
    def hides_votes(self) -> bool:
        """Whether the class must not see the votes yet, because it may vote again."""
        return self.twice and self.state.vote == 1 and self.state.phase in ("closed", "discussing")

    @property
    def question(self) -> str | None:
        """The id of the question that is open, or was the last one."""
        return self.current.question.id if self.current else None

    @property
    def ballot(self) -> str | None:
        """The name of the vote that is open, or was the last one."""
        return live.ballot(self.current.question.id, self.state.vote) if self.current else None
