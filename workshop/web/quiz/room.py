"""A live round in memory: what the store holds of it, and everybody who is on the line.

The store is the truth: a room is opened from it, follows it, and what a room tells is written there before. Belongs to
the event loop; commands come one after the other, answers come in between.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import live, truth
from workshop.quiz.live import RoundState
from workshop.sessions.client import wait
from workshop.store.records import QuizAnswer, QuizPlayer, QuizRound
from workshop.store.store import Store
from workshop.web.quiz import messages, rounds
from workshop.web.quiz.round import Client, LiveRound, Participant, RoundQuestion
from workshop.web.quiz.rounds import AnswerWriter

COUNTED = 0.2  # seconds between counts for the host
LOOK = 1.0  # seconds between looks at the store
LOOK_AT_RUNS = 0.5  # seconds; every look takes processor time from the ranks
GRACE = 0.1  # seconds behind a question's end in which answers that arrived before are read

FAULT = "The answer could not be computed because of a fault in the server; its log says more. Skip the question."

log = logging.getLogger(__name__)


class Room(LiveRound):
    """Made by `Room.open`. `state` only changes under `lock`."""

    def __init__(self, store: Store, writer: AnswerWriter, record: QuizRound) -> None:
        super().__init__(record)
        self.store, self.writer = store, writer
        self.limits = [float(self.deck.seconds_of(question)) for question in self.deck.questions]
        self.lock = asyncio.Lock()
        self.clients: set[Client] = set()
        self._messages: dict[bool, str] = {}  # the state for players and for staff
        self._touched = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, store: Store, writer: AnswerWriter, round_id: int) -> Room:
        """A round as the store has it, with its clock running. Raises BadInput where there is no such live round."""
        record = await asyncio.to_thread(store.round, round_id)
        if record.kind != "live":
            raise BadInput(f"Quiz round {round_id} is not a live one; it can't be joined.")
        room = cls(store, writer, record)
        async with room.lock:
            await room._load(record.state)
        room._start(room._follow())
        return room

    def close(self) -> None:
        """Do nothing more."""
        self._stop_clock()
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    async def _load(self, document: dict[str, Any]) -> None:
        """Go over to a state of the store, with all players and answers. Under the lock."""
        id = self.record.id
        players, answers = await asyncio.to_thread(lambda: (self.store.players(id), self.store.answers(id)))
        self.participants.load(players, answers)
        self.state = RoundState.from_json(document)
        if self.state.position >= 0:
            await self.prepare(self.state.position)
            try:
                await self.judge_again()
            except WorkshopError:
                log.exception("answers of round %s can't be judged again", id)
        self._show(personal=True)

    async def _follow(self) -> None:
        """Take note of what changed in the store by others: by a page, a command, or another dashboard."""
        while True:
            await asyncio.sleep(LOOK)
            with suppress(WorkshopError):  # a database that is busy for a moment
                async with self.lock:
                    known_ids = set(self.participants.all)  # first: who joins meanwhile is in the store already
                    for player in known_ids - await asyncio.to_thread(self.store.player_ids, self.record.id):
                        self.forget(player)
                    document = (await asyncio.to_thread(self.store.round, self.record.id)).state
                    if document["version"] > self.state.version:
                        await self._load(document)

    def join(self, player: QuizPlayer) -> Participant:
        """Take note of somebody who joined, and has not opened the page yet."""
        self.touch()
        return self.participants.add(player)

    def forget(self, player: int) -> None:
        """Take note that somebody's data was removed. Under the lock."""
        participant = self.participants.forget(player)
        if participant is not None:
            for client in participant.clients:
                send_away(client, "Your answers and your name were removed from this round.")
            self.announce()

    # -- who is on the line; each message is made once for all who get the same

    def enter(self, client: Client, participant: Participant | None) -> None:
        """Take somebody in, who gets the state at once."""
        self.clients.add(client)
        client.show("state", self._state(client))
        if participant is not None:
            participant.clients.add(client)
            client.show("you", messages.you(self, participant))
        self._end_lines([client])
        self.touch()

    def leave(self, client: Client) -> None:
        self.clients.discard(client)
        if client.player in self.participants.all:
            self.participants.all[client.player].clients.discard(client)
        self.touch()

    def announce(self, *, personal: bool = False) -> None:
        """Tell everybody the state, made once; and each player what is theirs, where that changed."""
        self._messages = {}
        texts: dict[bool, str] = {}
        for client in self.clients:
            staff = client.view != "player"
            if staff not in texts:
                texts[staff] = self._state(client)
            client.show("state", texts[staff])
        if personal:
            for participant in self.participants.present:
                if participant.clients:
                    text = messages.you(self, participant)
                    for client in participant.clients:
                        client.show("you", text)
        self.touch()

    def touch(self) -> None:
        """Somebody came, went or answered: tell the host and the projector, not for each one of a crowd."""
        if not self._touched:
            self._touched = True
            asyncio.get_running_loop().call_later(COUNTED + self.participants.count / 2000, self._tell_staff)

    def _tell_staff(self) -> None:
        self._touched = False
        self._messages = {}
        views = {
            "host": (messages.count, messages.players),
            "projector": (messages.count, messages.names) if self.state.phase == "lobby" else (messages.count,),
        }
        texts: dict[Callable[[Room], str], str] = {}
        for client in self.clients:
            for make in views.get(client.view, ()):
                if make not in texts:
                    texts[make] = make(self)
                client.show(make.__name__, texts[make])

    def _state(self, client: Client) -> str:
        staff = client.view != "player"
        if staff not in self._messages:
            self._messages[staff] = messages.state_message(self, staff=staff)
        return messages.stamped(self._messages[staff])

    # -- answers

    def answer(
        self, client: Client, participant: Participant, question: str, raw: Any, ref: Any, arrived: float
    ) -> None:
        """Take an answer that arrived then, or say why not. It is confirmed once it is kept."""
        if participant.removed or self.current is None or question != self.ballot or not self.state.accepts(arrived):
            paused = self.state.paused and question == self.ballot
            why = "The question is paused; answer when it goes on." if paused else "The question is closed."
            self._refuse(client, participant, question, ref, why)
            return
        try:
            answer = self.current.question.read(self.current.drawn, raw)
        except BadInput as error:
            self._refuse(client, participant, question, ref, str(error))
            return
        new_answer = QuizAnswer(
            self.record.id,
            self.current.question.id,
            participant.id,
            participant.nickname,
            answer,
            arrived,
            round(self.state.seconds(arrived), 3),
        )
        self.writer.put(new_answer, lambda stored: self._on_stored(client, participant, new_answer, ref, stored))

    def _on_stored(
        self, client: Client, participant: Participant, new_answer: QuizAnswer, ref: Any, stored: bool | None
    ) -> None:
        if participant.id not in self.participants.all:
            return  # their data was removed meanwhile, and they are told so
        if stored is None:
            why = "The answer could not be kept; please send it again."
            client.tell(kind="refused", question=self.ballot, ref=ref, why=why, answer=None)
            return
        if stored:
            self.participants.keep(new_answer)
            self.touch()
            client.tell(kind="confirmed", question=self.ballot, ref=ref)
            others = participant.clients - {client}
            for other in others:  # the same learner's other tabs
                other.show("you", messages.you(self, participant))
            if self.current is not None and self.current.question.slow:
                self._start(self.current.judge([new_answer.answer]))
            return
        # The first answer stays. The same one again is what a browser sends that lost the line before it was confirmed.
        first_answer = self.participants.answer(new_answer.question, participant.id)
        if first_answer is not None and first_answer.answer == new_answer.answer:
            client.tell(kind="confirmed", question=self.ballot, ref=ref)
        elif first_answer is not None:
            why = "You have answered already; the first answer counts."
            self._refuse(client, participant, self.ballot or "", ref, why)

    def _refuse(self, client: Client, participant: Participant, question: str, ref: Any, why: str) -> None:
        first_answer = self.participants.answer(self.question, participant.id) if question == self.ballot else None
        first = (
            self.current.question.sent(self.current.drawn, first_answer.answer)
            if self.current and first_answer
            else None
        )
        client.tell(kind="refused", question=question, ref=ref, why=why, answer=first)

    # -- how it goes on

    async def become(self, new: RoundState, renamed: tuple[str, str] | None = None) -> None:
        """Go over to a state, keep it, then tell everybody. `renamed`: the name of answers, before and after. Under the
        lock."""
        before, self.state = self.state, new  # what arrives from here on is decided by the new one
        try:
            if before.phase == "question" and new.phase != "question":
                await self.writer.flush()
            document, ended = new.as_json(), new.phase == "ended"
            await asyncio.to_thread(
                self.store.set_round_state,
                self.record.id,
                document,
                ended=ended,
                former=before.version,
                renamed=renamed,
            )
        except BaseException:
            self.state = before
            raise
        if renamed is not None:
            self.participants.rename(*renamed)
        self._show(personal=new.phase == "explained")
        if new.phase == "closed" and self.hides_votes:
            self._start(self.judge_again())

    def _show(self, *, personal: bool) -> None:
        """Set the clock, and tell everybody the state."""
        self.schedule()
        self.announce(personal=personal)
        self._end_lines(self.clients)

    def _end_lines(self, clients: Iterable[Client]) -> None:
        """Close lines where the round has ended."""
        if self.state.phase == "ended":
            for client in clients:
                client.tell(kind="ended")
                client.close("The round has ended.")

    async def prepare(self, position: int) -> None:
        """Make a question ready to be shown."""
        question = await asyncio.to_thread(RoundQuestion, self.record, self.deck, self.deck.questions[position])
        truth = self.state.truths.get(question.question.id)
        if truth is not None:
            question.take_truth(truth["value"])
        self.current = question

    async def discuss(self, seconds: float) -> None:
        """Set the first vote aside, and have learners talk until the second vote. Under the lock."""
        assert self.current is not None, "a question was asked"
        question = self.current.question.id
        await self.become(
            live.discuss(self.state, question, time.time(), seconds), (question, live.first_vote(question))
        )

    async def judge(self, first: bool = False) -> dict[int, tuple[float, bool | None, float]]:
        """Judge the last question's answers, or those of its first vote, which give no points; player -> share, right,
        points. Raises WorkshopError."""
        assert self.current is not None, "a question was asked"
        current, question = self.current, self.current.question.id
        answers = self.participants.answers(live.first_vote(question) if first else question)
        await current.judge(answer.answer for answer in answers)
        await asyncio.to_thread(current.solution)
        bonus = bool(self.record.settings.get("speed_bonus")) and not current.question.measured
        marks = {}
        for answer_record in answers:
            mark = current.mark(answer_record.answer)
            assert mark is not None, "it was judged above"
            seconds = answer_record.seconds or 0.0
            points = live.points(
                mark.share, mark.right, 0.0 if first else current.worth, seconds, current.limit, speed_bonus=bonus
            )
            marks[answer_record.player_id] = (mark.share, mark.right, points)
        return marks

    async def judge_again(self) -> None:
        """Judge for what is shown: feedback of an explained question, and for the host the first vote. Their points are
        in the store. Raises WorkshopError."""
        assert self.current is not None, "a question was asked"
        due = self.state.phase in messages.DUE
        if due:
            await self.judge()
        hidden = self.hides_votes and not self.current.question.measured
        if hidden or (due and self.current.question.id in self.state.voted_twice):
            await self.judge(first=self.state.phase != "closed")
            self.touch()

    async def explain(self, truth: dict[str, Any] | None = None) -> None:
        """Judge, then show what is right. Under the lock."""
        assert self.current is not None, "a question was asked"
        new = live.explain(self.state, self.current.question.id, truth)
        if truth is not None:
            self.current.take_truth(truth["value"])
        question = self.current.question.id
        votes = {question: await self.judge()}
        if question in self.state.voted_twice:
            votes[live.first_vote(question)] = await self.judge(first=True)
        for name, judged in votes.items():
            await asyncio.to_thread(self.store.judge_answers, self.record.id, name, judged)
            self.participants.judged(name, judged)
        await self.become(new)

    async def remove(self, players: Sequence[int]) -> None:
        """Remove some players; their answers stay and don't count. Under the lock. Raises BadInput where a player isn't
        there; then none is removed."""
        try:
            participants = [self.participants.all[player] for player in players]
        except KeyError as error:
            raise BadInput(f"There is no player {error} in this round.") from None
        await asyncio.to_thread(self.store.remove_players, players)
        self.participants.remove(participants)
        for participant in participants:
            for client in participant.clients:
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
            self._start(self.measure())

    async def measure(self) -> None:
        """Look at the runs until they have ended, then show what they gave."""
        assert self.current is not None, "a question is being measured"
        question: Any = self.current.question  # a Predict, since it is measured
        runs = dict(self.state.runs)

        def still() -> bool:
            return self.state.phase == "measuring" and dict(self.state.runs) == runs and not self.state.problem

        problem = "The runs told no value."
        try:
            ended = False
            while still() and not ended:
                done, ended = await asyncio.to_thread(rounds.progress, self.store, runs)
                if (done, len(runs)) != self.progress and still():
                    self.progress = done, len(runs)
                    self.announce()
                if not ended:
                    await asyncio.sleep(LOOK_AT_RUNS)
            if not still():
                return
            for run in runs.values():  # until they have really ended
                await asyncio.to_thread(wait, self.store, run, timeout=60)
            outcome = await asyncio.to_thread(truth.value, self.store, question, runs)
            problem = outcome.problem or problem
            async with self.lock:
                if outcome.value is not None and still():
                    words = f"{question.value_words(outcome.value)} ({outcome.words})"
                    await self.explain({"value": outcome.value, "words": words})
        except WorkshopError as error:
            problem = str(error)
        except Exception:
            log.exception("the answer of question %s could not be computed", question.id)
            problem = FAULT
        async with self.lock:
            if still():  # whatever happened, the round ends in a state from which its host can go on
                await self.become(live.failed(self.state, problem))

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _time_up(self) -> None:
        async with self.lock:
            now = time.time()
            if live.due(self.state, now):
                await self.become(live.close(self.state, now))
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


class Rooms:
    """Belongs to the event loop. A room is opened from the store once, for all who come."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.writer = AnswerWriter(store)
        self._rooms: dict[int, asyncio.Task[Room]] = {}

    async def room(self, round_id: int) -> Room:
        """Raises BadInput where there is no such live round."""
        task = self._rooms.get(round_id)
        if task is None:
            task = self._rooms[round_id] = asyncio.create_task(Room.open(self.store, self.writer, round_id))
        try:
            return await asyncio.shield(task)
        except Exception:
            self._rooms.pop(round_id, None)
            raise

    def drop(self, room: Room) -> None:
        """Drop a room that has ended when the last one goes; whoever comes later opens it again."""
        if room.state.phase == "ended" and not room.clients:
            self._rooms.pop(room.record.id, None)
            room.close()


def send_away(client: Client, why: str = "The host removed you from this round.") -> None:
    """Tell somebody that they are out of the round, and close the line."""
    client.tell(kind="removed", why=why)
    client.close(why)
