"""The rooms that somebody asked for. A room is opened from the store once, for all who come, unless another dashboard
has it. Also the end of a round that a page asks for."""

from __future__ import annotations

import asyncio

from workshop.core.errors import WorkshopError
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web.actions import only_instructor
from workshop.web.quiz.commands import obey
from workshop.web.quiz.room import Room
from workshop.web.quiz.writer import AnswerWriter

PATIENCE = 15.0  # seconds


class Rooms:
    """Belongs to the event loop."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.writer = AnswerWriter(store)
        self._rooms: dict[int, asyncio.Task[Room]] = {}

    async def room(self, round_id: int) -> Room:
        """Raises BadInput where there is no such live round, or another dashboard hosts it."""
        task = self._rooms.get(round_id)
        if task is None:
            task = self._rooms[round_id] = asyncio.create_task(Room.open(self.store, self.writer, round_id))
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done() and self._rooms.get(round_id) is task:
                del self._rooms[round_id]
            raise

    async def drop(self, room: Room) -> None:
        """Drop a room that has ended when the last one goes; whoever comes later opens it again."""
        ended = room.state.phase == "ended" and not room.clients
        if ended and _opened(self._rooms.get(room.record.id)) is room:
            del self._rooms[room.record.id]
            await room.close()


def _opened(task: asyncio.Task[Room] | None) -> Room | None:
    """The room that a task has opened; None while it hasn't, and where it couldn't."""
    if task is None or not task.done() or task.cancelled() or task.exception() is not None:
        return None
    return task.result()


_serving: list[tuple[Rooms, asyncio.AbstractEventLoop]] = []  # at most one: those of this process's server


def note_serving(rooms: Rooms) -> None:
    """Take note, on the event loop, of the rooms that people are in."""
    _serving[:] = [(rooms, asyncio.get_running_loop())]


def end_round(store: Store, identity: Identity, round_id: int) -> None:
    """End a live round, and tell all who are in it; what was answered stays. Pages, which are threads beside the
    server's event loop, call this. Raises BadInput for learners, where the round has ended already, and where another
    dashboard hosts it."""
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
