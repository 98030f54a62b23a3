"""A live round in memory: what the store holds of it, and everybody who is on the line.

The store is the truth: a room is opened from it, and what a room tells is written there before. While a room is open no
other dashboard has one of that round. Belongs to the event loop; commands come one after the other, answers come in
between.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import question_view as asking
from workshop.quiz.deck import Deck
from workshop.quiz.live import scoring, state
from workshop.quiz.live.state import RoundState
from workshop.server.quiz import measurement, messages
from workshop.server.quiz.broadcast import Broadcast
from workshop.server.quiz.client import Client
from workshop.server.quiz.participants import Participant, Participants
from workshop.server.quiz.question import RoundQuestion
from workshop.server.quiz.room_lock import RoomLock
from workshop.server.quiz.writer import AnswerWriter
from workshop.store.records import QuizAnswer, QuizPlayer, QuizRound
from workshop.store.store import Store

ELSEWHERE = "Another dashboard hosts this round now; open it there."
LOOK = 1.0  # seconds between looks at who is still in the store
GRACE = 0.1  # seconds behind a question's end in which answers that arrived before are read

log = logging.getLogger(__name__)


class Room(Broadcast):
    """Made by `Room.open`. `state` only changes under `lock`."""

    def __init__(
        self, store: Store, writer: AnswerWriter, hold: RoomLock, record: QuizRound, seats: Participants
    ) -> None:
        super().__init__()
        self.store, self.writer, self.hold, self.record, self.seats = store, writer, hold, record, seats
        self.deck = Deck.model_validate(record.deck)
        self.ids = [question.id for question in self.deck.questions]
        self.limits = [float(self.deck.seconds_of(question)) for question in self.deck.questions]
        self.state = RoundState.from_json(record.state)
        self.lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, store: Store, writer: AnswerWriter, round_id: int) -> Room:
        """A round as the store has it, with its clock running. Raises BadInput where there is no such live round, or
        another dashboard hosts it."""
        if (await asyncio.to_thread(store.round, round_id)).kind != "live":
            raise BadInput(f"Quiz round {round_id} is not a live one; it can't be joined.")
        hold = await RoomLock.take(store, round_id)
        try:
            return await cls._held(store, writer, hold)
        except BaseException:
            await hold.release()
            raise

    @classmethod
    async def _held(cls, store: Store, writer: AnswerWriter, hold: RoomLock) -> Room:
        def read() -> tuple[
            QuizRound, Participants
        ]:  # once it is ours: whoever hosted it before may have gone on until then
            id = hold.round_id
            return store.round(id), Participants(store.players(id), store.answers(id))

        room = cls(store, writer, hold, *await asyncio.to_thread(read))
        async with room.lock:
            if room.state.position >= 0:
                await room.prepare(room.state.position)
            if room.state.phase in messages.DUE and room.asked is not None:
                try:
                    await room.judge()  # for its feedback: what answers are worth is in the store
                except WorkshopError:
                    log.exception("answers of round %s can't be judged again", hold.round_id)
            room.schedule()
        room._start(room._until_lost())
        room._start(room._forget_with_the_store())
        return room

    async def close(self) -> None:
        """Do nothing more, and let others host the round."""
        self._stop()
        await self.hold.release()

    async def _until_lost(self) -> None:
        """Send everybody away once another dashboard hosts the round."""
        await self.hold.lost.wait()
        self._stop()
        for client in self.clients:
            client.close(ELSEWHERE)

    async def _forget_with_the_store(self) -> None:
        """Take note of data that were removed somewhere else: at another dashboard, by a command."""
        while True:
            await asyncio.sleep(LOOK)
            known = set(self.seats.all)  # first: who joins meanwhile is in the store before they are here
            with suppress(WorkshopError):  # a database that is busy for a moment
                gone = known - await asyncio.to_thread(self.store.player_ids, self.record.id)
                for player in gone:
                    async with self.lock:
                        self.forget(player)

    def _stop(self) -> None:
        self._stop_clock()
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    def enter(self, client: Client, seat: Participant | None) -> None:
        super().enter(client, seat)
        if self.hold.lost.is_set():  # while they were on their way in
            client.close(ELSEWHERE)

    def join(self, player: QuizPlayer, address: str = "") -> Participant:
        """Take note of somebody who joined, from there."""
        self.touch()
        return self.seats.add(player, address)

    def forget(self, player: int) -> None:
        """Take note that somebody's data was removed. Under the lock."""
        seat = self.seats.forget(player)
        if seat is not None:
            for client in seat.clients:
                send_away(client, "Your answers and your name were removed from this round.")
            self.announce()

    # -- answers

    def answer(self, client: Client, seat: Participant, question: str, raw: Any, ref: Any, arrived: float) -> None:
        """Take an answer that arrived then, or say why not. It is confirmed once it is kept."""
        if seat.removed or self.asked is None or question != self.question or not self.state.accepts(arrived):
            paused = self.state.paused and question == self.question
            why = "The question is paused; answer when it goes on." if paused else "The question is closed."
            self._refuse(client, seat, question, ref, why)
            return
        try:
            answer = asking.answer(self.asked.asked, raw)
        except BadInput as error:
            self._refuse(client, seat, question, ref, str(error))
            return
        there = self.seats.answer(question, seat.id)
        if there is not None:
            self._again(client, seat, there, answer, ref)
            return
        given = QuizAnswer(
            self.record.id, question, seat.id, seat.nickname, answer, arrived, round(self.state.seconds(arrived), 3)
        )
        self.writer.put(given, lambda kept: self._kept(client, seat, given, ref, kept))

    def _kept(self, client: Client, seat: Participant, given: QuizAnswer, ref: Any, kept: bool | None) -> None:
        if seat.id not in self.seats.all:
            return  # their data was removed meanwhile, and they are told so
        if kept is None:
            why = "The answer could not be kept; please send it again."
            client.tell(kind="refused", question=given.question, ref=ref, why=why, answer=None)
            return
        if kept:
            self.seats.keep(given)
            self.touch()
            client.tell(kind="confirmed", question=given.question, ref=ref)
            others = seat.clients - {client}
            for other in others:  # the same learner's other tabs
                other.show("you", self._you(seat))
            if self.asked is not None and self.asked.question.type == "place":
                self._start(self.asked.grader.judge([given.answer]))
            return
        there = self.seats.answer(given.question, seat.id)
        if there is not None:
            self._again(client, seat, there, given.answer, ref)

    def _again(self, client: Client, seat: Participant, there: QuizAnswer, answer: Any, ref: Any) -> None:
        """The second answer of somebody: the first one stays. The same one again is what a browser sends that lost
        the line before it was confirmed."""
        if there.answer == answer:
            client.tell(kind="confirmed", question=there.question, ref=ref)
        else:
            self._refuse(client, seat, there.question, ref, "You have answered already; the first answer counts.")

    def _refuse(self, client: Client, seat: Participant, question: str, ref: Any, why: str) -> None:
        there = self.seats.answer(question, seat.id) if question == self.question else None
        first = asking.raw(self.asked.asked, there.answer) if self.asked and there else None
        client.tell(kind="refused", question=question, ref=ref, why=why, answer=first)

    # -- how it goes on

    async def become(self, new: RoundState) -> None:
        """Go over to a state, keep it, then tell everybody. Under the lock."""
        before, self.state = self.state, new  # what arrives from here on is decided by the new one
        try:
            if before.phase == "question" and new.phase != "question":
                await self.writer.flush()
            kept, ended = new.as_json(), new.phase == "ended"
            id, host = self.record.id, self.hold.host
            await asyncio.to_thread(self.store.set_round_state, id, kept, ended=ended, host=host)
        except BaseException:
            self.state = before
            raise
        self.schedule()
        self.announce(personal=new.phase == "explained")
        if new.phase == "ended":
            for client in self.clients:
                client.tell(kind="ended")
                client.close("The round has ended.")

    async def prepare(self, position: int) -> None:
        """Make a question ready to be shown."""
        made = await asyncio.to_thread(RoundQuestion, self.record, self.deck, self.deck.questions[position])
        truth = self.state.truths.get(made.question.id)
        if truth is not None:
            made.take_truth(truth["value"])
        self.asked = made

    async def judge(self) -> dict[int, tuple[float, bool | None, float]]:
        """Judge the last question's answers; player -> share, right, points. Raises WorkshopError."""
        assert self.asked is not None, "a question was asked"
        asked, answers = self.asked, self.seats.answers(self.asked.question.id)
        await asked.grader.judge(answer.answer for answer in answers)
        await asyncio.to_thread(asked.solution)
        bonus = bool(self.record.settings.get("speed_bonus"))
        found = {}
        for one in answers:
            mark = asked.grader.mark(one.answer)
            seconds = one.seconds or 0.0
            points = scoring.points(
                mark.share, mark.right, asked.worth, seconds, asked.limit, speed_bonus=bonus and not asked.measured
            )
            found[one.player_id] = (mark.share, mark.right, points)
        return found

    async def explain(self, truth: dict[str, Any] | None = None) -> None:
        """Judge, then show what is right. Under the lock."""
        assert self.asked is not None, "a question was asked"
        new = state.explain(self.state, self.asked.question.id, truth)
        if truth is not None:
            self.asked.take_truth(truth["value"])
        judged = await self.judge()
        await asyncio.to_thread(self.store.judge_answers, self.record.id, self.asked.question.id, judged)
        self.seats.judged(self.asked.question.id, judged)
        await self.become(new)

    async def remove(self, players: Sequence[int]) -> None:
        """Have some leave; their answers stay and don't count. Under the lock. Raises BadInput, and then nobody leaves,
        where one of them isn't there."""
        for player in players:
            if player not in self.seats.all:
                raise BadInput(f"There is no player {player} in this round.")
        seats = [self.seats.all[player] for player in players]
        await asyncio.to_thread(self.store.remove_players, players)
        self.seats.remove(seats)
        for seat in seats:
            for client in seat.clients:
                send_away(client)
        if self.state.phase not in ("lobby", "question"):
            self.announce()
        self.touch()

    def schedule(self) -> None:
        """Set the clock by the state, and have runs looked at where it is being measured."""
        self._stop_clock()
        if self.state.phase == "question" and self.state.ends_at is not None:
            wait = max(self.state.ends_at - time.time(), 0.0) + GRACE
            self._timer = asyncio.get_running_loop().call_later(wait, lambda: self._start(self._time_up()))
        if self.state.phase == "measuring" and not self.state.problem:
            self.progress = None
            self._start(measurement.measure(self))

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _time_up(self) -> None:
        async with self.lock:
            now = time.time()
            if state.due(self.state, now):
                await self.become(state.close(self.state, now))
            elif self.state.phase == "question":
                self.schedule()

    def _start(self, work: Any) -> None:
        """Have something done beside; what goes wrong there is in the log."""
        task = asyncio.create_task(work)
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and task.exception() is not None:
                log.error("a quiz round's work failed", exc_info=task.exception())

        task.add_done_callback(done)


def send_away(client: Client, why: str = "The host removed you from this round.") -> None:
    """Tell somebody that they are out of the round, and close the line."""
    client.tell(kind="removed", why=why)
    client.close(why)
