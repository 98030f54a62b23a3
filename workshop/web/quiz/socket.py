"""The line between a browser and a room: /quiz/ID/socket?view=player|projector|host. A host's command names the version
of the state that its button belonged to, so that a second click, or another tab that is behind, does nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from pydantic import BaseModel
from starlette.websockets import WebSocket

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import live
from workshop.store.records import Identity
from workshop.web.quiz import rounds
from workshop.web.quiz.room import Room, Rooms, send_away
from workshop.web.quiz.round import Client, Participant

FOREIGN = 1008  # code of a close: one may not be here

log = logging.getLogger(__name__)


class QuizMessage(BaseModel, extra="forbid", strict=True):
    """An answer or a command."""

    kind: Literal["answer", "command"]
    question: str = ""
    answer: Any = None
    ref: int | str | None = None
    do: str = ""
    value: Any = None
    version: int = -1

    @classmethod
    def read(cls, text: str | None) -> QuizMessage:
        """A message of a browser. Raises BadInput."""
        try:
            return cls.model_validate_json(text or "")
        except ValueError:
            raise BadInput("The message can't be read; it should be an answer or a command as JSON.") from None


async def serve(websocket: WebSocket, rooms: Rooms) -> None:
    """Keep somebody on the line until one of both ends it."""
    identity: Identity | None = websocket.scope.get("state", {}).get("identity")
    view = websocket.query_params.get("view", "player")
    if identity is None or view not in ("player", "projector", "host"):
        await websocket.close(FOREIGN, "There is no such view.")
        return
    if view != "player" and identity.role != "instructor":
        await websocket.close(FOREIGN, "Only the instructor can see this.")
        return
    client = Client(websocket, view)
    await websocket.accept()
    sender = asyncio.create_task(client.send())
    room: Room | None = None
    try:
        room = await rooms.room(websocket.path_params["id"])
        participant: Participant | None = None
        if view == "player":
            participant = room.participants.find(identity.id)
            if participant is None:
                players = await asyncio.to_thread(room.store.players, room.record.id, identity.id)
                if not players:
                    raise BadInput("You have not joined this round; do so at /quiz, with its code.")
                participant = room.join(players[0])
            if participant.removed:
                send_away(client)
                await sender
                return
            client.player = participant.id
        room.enter(client, participant)
        await _listen(client, room, participant, identity)
    except BadInput as error:
        client.tell(kind="problem", why=str(error))
        client.close("This can't be joined.")
        await sender
    finally:
        if room is not None:
            room.leave(client)
            rooms.drop(room)
        sender.cancel()
        with suppress(asyncio.CancelledError):
            await sender


async def _listen(client: Client, room: Room, participant: Participant | None, identity: Identity) -> None:
    """Heed what somebody sends until the line is closed, also from here."""
    while True:
        received, arrived = await client.websocket.receive(), time.time()
        if received["type"] != "websocket.receive":
            return
        try:
            message = QuizMessage.read(received.get("text"))
            if message.kind == "command":
                if client.view != "host":
                    raise BadInput("Only the host can do this.")
                await obey(room, message.do, message.value, message.version, identity)
            elif participant is None:
                raise BadInput("Only learners answer; open the learner's page to try it.")
            else:
                room.answer(client, participant, message.question, message.answer, message.ref, arrived)
        except WorkshopError as error:
            client.tell(kind="problem", why=str(error))
        except Exception:
            log.exception("a message of a quiz could not be dealt with")
            client.tell(kind="problem", why="The server could not deal with this; its log says why.")


async def obey(room: Room, do: str, value: Any, version: int, identity: Identity) -> None:
    """Do what a command says. Raises BadInput where it can't be, or isn't meant for the round as it is now."""
    async with room.lock:
        if do != "remove" and version != room.state.version:
            raise BadInput("The round has gone on meanwhile, by another click or in another tab; look at it again.")
        await _do(room, do, value, identity)


async def _do(room: Room, do: str, value: Any, identity: Identity) -> None:
    now, current = room.state, room.current
    measured = current is not None and current.question.measured
    match do:
        case "remove":
            await room.remove(value if isinstance(value, list) else [value])
        case "next":
            await _forward(room, live.next_)
        case "skip":
            await _forward(room, live.skip)
            await asyncio.to_thread(rounds.cancel_runs, room.store, now.runs)
        case "close":
            await room.become(live.close(now, time.time()))
        case "discuss":
            if not room.twice:
                raise BadInput("The class can't vote twice on this question: it is a poll, or the round has one vote.")
            await room.discuss(live.TALK if value is None else value)
        case "vote":
            await room.become(live.vote_again(now, room.limits[now.position], time.time()))
        case "pause":
            await room.become(live.pause(now, time.time()))
        case "resume":
            await room.become(live.resume(now, time.time()))
        case "extend":
            await room.become(live.extend(now, live.REOPENED if value is None else value, time.time()))
        case "reopen":
            await room.become(live.reopen(now, time.time(), live.REOPENED if value is None else value))
        case "explain":
            if measured and now.phase == "closed":
                raise BadInput("The answer has to be measured first: run it, or skip the question.")
            await room.explain()
        case "run":
            if current is None or not measured:
                raise BadInput("There is nothing to measure in this question.")
            live.run(now, {})  # refused before anything is submitted
            question: Any = current.question  # a Predict, since it is measured
            runs = await asyncio.to_thread(rounds.measure, room.store, room.record.session, question, identity)
            await room.become(live.run(room.state, runs))
        case "ranking":
            if not room.ranked:
                raise BadInput("This round has no ranking.")
            await room.become(live.ranking(now))
        case "podium":
            await room.become(live.podium(now))
        case "lock" | "unlock":
            await room.become(live.lock(now, do == "lock"))
        case "end":
            await room.become(live.end(now))
            await asyncio.to_thread(rounds.cancel_runs, room.store, now.runs)
        case _:
            raise BadInput(f"There is no command {do[:40]!r}.")


async def _forward(room: Room, go: Callable[..., live.RoundState]) -> None:
    """Open the next question, whose clock begins when it is ready to be shown."""
    before, former_question = room.state, room.current
    new = go(before, room.ids, room.limits, time.time())
    try:
        if new.phase == "question":
            # Nobody may answer the new question while the old one is still the state.
            await room.prepare(new.position)
        await room.become(go(before, room.ids, room.limits, time.time()))
    except BaseException:
        room.current = former_question
        raise
