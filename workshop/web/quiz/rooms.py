"""The rooms that somebody asked for. A room is opened from the store once, for all who come."""

from __future__ import annotations

import asyncio

from workshop.store.store import Store
from workshop.web.quiz.room import Room
from workshop.web.quiz.writer import Writer


class Rooms:
    """Belongs to the event loop."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.writer = Writer(store)
        self._rooms: dict[int, asyncio.Task[Room]] = {}

    async def room(self, round_id: int) -> Room:
        """Raises BadInput where there is no such live round."""
        task = self._rooms.get(round_id)
        if task is None:
            task = self._rooms[round_id] = asyncio.create_task(Room.open(self.store, self.writer, round_id))
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done() and self._rooms.get(round_id) is task:
                del self._rooms[round_id]
            raise

    def left(self, room: Room) -> None:
        """Drop a room that has ended when the last one goes; whoever comes later opens it again."""
        if room.state.phase == "ended" and not room.clients:
            self._rooms.pop(room.record.id, None)

    async def forget(self, round_id: int, player: int) -> None:
        """Somebody's data was removed from the store: they aren't in the room either, if there is one."""
        task = self._rooms.get(round_id)
        if task is not None:
            room = await asyncio.shield(task)
            async with room.lock:
                room.forget(player)
