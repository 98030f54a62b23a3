"""The line between a browser and a room: /quiz/ID/socket?view=player|projector|host."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket

from workshop.core.errors import BadInput, WorkshopError
from workshop.store.records import Identity
from workshop.web import limits
from workshop.web.quiz import commands
from workshop.web.quiz.client import Client
from workshop.web.quiz.participants import Participant
from workshop.web.quiz.room import Room, send_away
from workshop.web.quiz.rooms import Rooms

LARGEST = 16_384  # characters of a message
LONGEST_REF = 40
FOREIGN = 1008  # code of a close: one may not be here
_ANSWER = {"kind", "question", "answer", "ref"}
_COMMAND = {"kind", "do", "value", "version"}

log = logging.getLogger(__name__)


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
        participant = await _participant(room, identity) if view == "player" else None
        if participant is not None and participant.removed:
            send_away(client)
            await sender
            return
        client.player = participant.id if participant is not None else None
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


async def _participant(room: Room, identity: Identity) -> Participant:
    """Where somebody takes part who has joined. Raises BadInput where they haven't."""
    participant = room.participants.find(identity.id)
    if participant is None:
        players = await asyncio.to_thread(room.store.players, room.record.id, identity.id)
        if not players:
            raise BadInput("You have not joined this round; do so at /quiz, with its code.")
        participant = room.join(players[0])
    return participant


async def _listen(client: Client, room: Room, participant: Participant | None, identity: Identity) -> None:
    """Heed what somebody sends until the line is closed, also from here."""
    complained = 0.0
    while not client.gone:
        message, arrived = await client.websocket.receive(), time.time()
        if message["type"] != "websocket.receive":
            return
        if not limits.hit(limits.MESSAGES, identity.id):
            if arrived - complained > 1:
                complained = arrived
                client.tell(kind="problem", why="That is too much at once; what came too fast was not read.")
            continue
        try:
            await _heed(client, room, participant, identity, _read(message.get("text")), arrived)
        except WorkshopError as error:
            client.tell(kind="problem", why=str(error))
        except Exception:
            log.exception("a message of a quiz could not be dealt with")
            client.tell(kind="problem", why="The server could not deal with this; its log says why.")


async def _heed(
    client: Client,
    room: Room,
    participant: Participant | None,
    identity: Identity,
    message: dict[str, Any],
    arrived: float,
) -> None:
    match message.get("kind"):
        case "answer":
            if participant is None:
                raise BadInput("Only learners answer; open the learner's page to try it.")
            _only(message, _ANSWER)
            question, ref = message.get("question"), message.get("ref")
            if not isinstance(question, str) or "answer" not in message:
                raise BadInput("An answer says to which question, and what.")
            if not (ref is None or isinstance(ref, int) or (isinstance(ref, str) and len(ref) <= LONGEST_REF)):
                raise BadInput(f"ref should be a number, or text of at most {LONGEST_REF} characters.")
            room.answer(client, participant, question[:100], message["answer"], ref, arrived)
        case "command":
            if client.view != "host":
                raise BadInput("Only the host can do this.")
            _only(message, _COMMAND)
            await commands.obey(room, message, identity)
        case _:
            raise BadInput("A message is an answer or a command.")


def _read(text: str | None) -> dict[str, Any]:
    """A message of a browser. Raises BadInput."""
    if text is None:
        raise BadInput("A message is text.")
    if len(text) > LARGEST:
        raise BadInput(f"The message has {len(text)} characters; at most {LARGEST} are read.")
    try:
        read = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadInput("The message is no JSON.") from None
    if not isinstance(read, dict):
        raise BadInput("A message is an object.")
    return read


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _only(message: dict[str, Any], names: set[str]) -> None:
    if others := set(message) - names:
        raise BadInput(f"A message has no {str(min(others))[:40]!r}; it has {', '.join(sorted(names))}.")
