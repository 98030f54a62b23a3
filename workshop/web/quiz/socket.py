"""The line between a browser and a room: /quiz/ID/socket?view=player|projector|host."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any, Literal

from pydantic import BaseModel
from starlette.websockets import WebSocket

from workshop.core.errors import BadInput, WorkshopError
from workshop.store.records import Identity
from workshop.web.quiz import commands
from workshop.web.quiz.client import Client
from workshop.web.quiz.participants import Participant
from workshop.web.quiz.room import Room, Rooms, send_away

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
    while not client.gone:
        received, arrived = await client.websocket.receive(), time.time()
        if received["type"] != "websocket.receive":
            return
        try:
            message = QuizMessage.read(received.get("text"))
            if message.kind == "command":
                if client.view != "host":
                    raise BadInput("Only the host can do this.")
                await commands.obey(room, message.do, message.value, message.version, identity)
            elif participant is None:
                raise BadInput("Only learners answer; open the learner's page to try it.")
            else:
                room.answer(client, participant, message.question, message.answer, message.ref, arrived)
        except WorkshopError as error:
            client.tell(kind="problem", why=str(error))
        except Exception:
            log.exception("a message of a quiz could not be dealt with")
            client.tell(kind="problem", why="The server could not deal with this; its log says why.")
