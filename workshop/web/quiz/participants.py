"""The participants of a round, their answers, and their connections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from workshop.quiz.live import Ranking, rank
from workshop.store.records import QuizAnswer, QuizPlayer
from workshop.web.quiz.client import Client

# Players of one round, so that nobody fills it with thousands of names. A round of 2,000 was measured to be at ease on
# two cores (`python -m benchmarks quiz`).
MOST_PLAYERS = 2500


@dataclass
class Participant:
    id: int
    identity_id: int | None
    nickname: str
    removed: bool
    guest: bool = False  # who came in by the round's code, and is no member of the class
    clients: set[Client] = field(default_factory=set)


class Participants:
    """Belongs to the event loop. A removed participant stays known, so that they can't join again, and keeps the
    answers, which don't count."""

    def __init__(self) -> None:
        self.all: dict[int, Participant] = {}
        self._of: dict[int | None, Participant] = {}
        self._answers: dict[str, dict[int, QuizAnswer]] = {}  # question -> player -> answer
        self.ranking: Ranking

    def load(self, players: Iterable[QuizPlayer], answers: Iterable[QuizAnswer]) -> None:
        """Take over what the store holds."""
        for player in players:
            self.add(player)
        self._answers = {}
        for answer in answers:
            self.keep(answer)
        self.count_points()

    def add(self, player: QuizPlayer, guest: bool = False) -> Participant:
        if player.id not in self.all:
            participant = Participant(player.id, player.identity_id, player.nickname, player.removed, guest)
            self.all[player.id] = self._of[player.identity_id] = participant
        return self.all[player.id]

    def find(self, identity_id: int) -> Participant | None:
        return self._of.get(identity_id)

    @property
    def present(self) -> list[Participant]:
        """Everybody who was not removed."""
        return [participant for participant in self.all.values() if not participant.removed]

    @property
    def count(self) -> int:
        return sum(not participant.removed for participant in self.all.values())

    def replaceable(self, for_member: bool) -> Participant | None:
        """The guest who joined first and doesn't have the round's page open; for a member else the newest guest."""
        guests = [participant for participant in self.present if participant.guest]
        absent = [participant for participant in guests if not participant.clients]
        return next(iter(absent or (guests[-1:] if for_member else [])), None)

    def keep(self, answer: QuizAnswer) -> None:
        self._answers.setdefault(answer.question, {})[answer.player_id] = answer

    def answer(self, question: str | None, player: int) -> QuizAnswer | None:
        return self._answers.get(question or "", {}).get(player)

    def answers(self, question: str) -> list[QuizAnswer]:
        """Those that count."""
        return [answer for player, answer in self._answers.get(question, {}).items() if not self.all[player].removed]

    def answered(self, question: str | None) -> int:
        return sum(not self.all[player].removed for player in self._answers.get(question or "", {}))

    def judged(self, question: str, judged: Mapping[int, tuple[float, bool | None, float]]) -> None:
        """Take in what answers are worth."""
        answers = self._answers.get(question, {})
        for player, (share, right, points) in judged.items():
            answers[player] = replace(answers[player], share=share, right=right, points=points)
        self.count_points()

    def rename(self, question: str, name: str) -> None:
        """Keep the answers to a question under another name."""
        answers = self._answers.pop(question, {})
        self._answers[name] = {player: replace(answer, question=name) for player, answer in answers.items()}

    def remove(self, participants: Iterable[Participant]) -> None:
        """They stay known, and don't count."""
        for participant in participants:
            participant.removed = True
        self.count_points()

    def forget(self, player: int) -> Participant | None:
        """As if they had never been here."""
        participant = self.all.pop(player, None)
        if participant is not None:
            participant.removed = True  # for lines that are still open, and may say something before they are closed
            self._of.pop(participant.identity_id, None)
            for answers in self._answers.values():
                answers.pop(player, None)
            self.count_points()
        return participant

    def count_points(self) -> None:
        """Rank all again, after answers were judged or a participant left. A newcomer has no place until then."""
        points = {participant.id: 0.0 for participant in self.present}
        for answers in self._answers.values():
            for player, answer in answers.items():
                if player in points:
                    points[player] += answer.points or 0.0
        self.ranking = rank(points)

    def points(self, player: int) -> float:
        return self.ranking.points.get(player, 0.0)
