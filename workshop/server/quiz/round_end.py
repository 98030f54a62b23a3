"""Ending a round from a page of the dashboard. Rooms belong to the server's event loop; pages are threads beside it."""

from __future__ import annotations

import asyncio

from workshop.core.errors import WorkshopError
from workshop.server.actions import only_instructor
from workshop.server.quiz.commands import obey
from workshop.server.quiz.room import Room
from workshop.server.quiz.rooms import Rooms
from workshop.server.quiz.writer import AnswerWriter
from workshop.store.records import Identity
from workshop.store.store import Store

PATIENCE = 15.0  # seconds
_serving: list[tuple[Rooms, asyncio.AbstractEventLoop]] = []  # at most one: those of this process's server


def serves(rooms: Rooms) -> None:
    """Take note, on the event loop, of the rooms that people are in."""
    _serving[:] = [(rooms, asyncio.get_running_loop())]


def end(store: Store, identity: Identity, round_id: int) -> None:
    """End a live round, and tell all who are in it; what was answered stays. Raises BadInput for learners, where it has
    ended already, and where another dashboard hosts it."""
    only_instructor(identity)
    serving = next(((rooms, loop) for rooms, loop in _serving if loop.is_running()), None)
    try:
        if serving is None:  # nobody has been in a round since the server was started
            asyncio.run(asyncio.wait_for(_end_unseen(store, round_id), PATIENCE))
        else:
            asyncio.run_coroutine_threadsafe(_end(serving[0], round_id), serving[1]).result(PATIENCE)
    except TimeoutError:
        raise WorkshopError("The round doesn't end; try again from its host's view.") from None


async def _end_unseen(store: Store, round_id: int) -> None:
    room = await Room.open(store, AnswerWriter(store), round_id)
    try:
        await _tell(room)
    finally:
        await room.close()


async def _end(rooms: Rooms, round_id: int) -> None:
    room = await rooms.room(round_id)
    try:
        await _tell(room)
    finally:
        await rooms.drop(room)


async def _tell(room: Room) -> None:
    await obey(room, {"do": "end", "version": room.state.version}, None)
