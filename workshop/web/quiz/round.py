"""What is known of a live round: its deck, state, participants with their answers and lines, and its question. What is
slow to make is made once, in a thread, and equal answers are judged once, since everybody gets the same numbers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from workshop.quiz import live
from workshop.quiz.deck import Deck, ask
from workshop.quiz.live import Ranking, RoundState, rank
from workshop.quiz.results.answers import distribution
from workshop.quiz.types import Mark, Question
from workshop.store.records import QuizAnswer, QuizPlayer, QuizRound


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


DONT_COME_BACK = 4001  # code of a close after which the page doesn't reconnect
_FIRST = ("state", "you")  # then the others
_OF_A_STATE = ("count", "players")  # who has answered what is open: not to be told after the next state


class Client:
    """One socket. Of what is overtaken by a newer one before it is being sent (`show`) a slow client only gets the
    newest; `tell` is sent always. Nobody waits for it."""

    def __init__(self, websocket: WebSocket, view: str, player: int | None = None) -> None:
        self.websocket = websocket
        self.view = view
        self.player = player
        self._shown: dict[str, str] = {}
        self._told: list[str] = []
        self._close: str | None = None
        self._wake = asyncio.Event()

    def show(self, kind: str, text: str) -> None:
        """Send this, in place of what of this kind is not being sent yet."""
        if kind == "state":
            for older in _OF_A_STATE:
                self._shown.pop(older, None)
        self._shown[kind] = text
        self._wake.set()

    def tell(self, **message: Any) -> None:
        self._told.append(dumps(message))
        self._wake.set()

    def close(self, why: str) -> None:
        """Close the line when what was there before has been sent."""
        self._close = why
        self._wake.set()

    async def send(self) -> None:
        """Until the line is closed, from here or from there."""
        # RuntimeError: Starlette's word for sending after the close.
        with suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await self._wake.wait()
                self._wake.clear()
                closing = self._close
                messages, self._told = self._told, []
                states, self._shown = self._shown, {}
                # As a whole before anything newer, a part of which could overtake the state that it belongs to.
                kinds = (*_FIRST, *(kind for kind in states if kind not in _FIRST))
                news = [states[kind] for kind in kinds if kind in states]
                for text in (*messages, *news) if closing is None else (*news, *messages):
                    await self.websocket.send_text(text)
                if closing is not None:
                    await self.websocket.close(DONT_COME_BACK, closing)
                    return


def dumps(value: Any) -> str:
    """Compact JSON in ASCII: what people typed may hold half a surrogate pair, which no line carries."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


# Players of one round, so that nobody fills it with thousands of names. A round of 2,000 was measured to be at ease on
# two cores (`python -m benchmarks quiz`).
MOST_PLAYERS = 2500


@dataclass
class Participant:
    id: int
    identity_id: int | None
    nickname: str
    removed: bool
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

    def add(self, player: QuizPlayer) -> Participant:
        if player.id not in self.all:
            participant = Participant(player.id, player.identity_id, player.nickname, player.removed)
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
        return len(self.present)

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


class RoundQuestion:
    def __init__(self, record: QuizRound, deck: Deck, question: Question) -> None:
        # One text for all, since the projector shows one: the seed is the round's.
        self.drawn = ask(deck, question, record.seed)
        self.question = question
        self.worth = deck.points_of(question)
        self.limit = deck.seconds_of(question)
        self.shown = question.view(self.drawn, lambda _: f"quiz/{record.id}/picture/{question.id}")
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
