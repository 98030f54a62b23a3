"""The rooms that somebody asked for, and the end of a round that a page asks for."""

from __future__ import annotations

import asyncio

from workshop.core.errors import BadInput
from workshop.quiz.live import state
from workshop.quiz.live.state import RoundState
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web.actions import only_instructor
from workshop.web.quiz import measurement
from workshop.web.quiz.room import Room
from workshop.web.quiz.writer import AnswerWriter


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


def end_round(store: Store, identity: Identity, round_id: int) -> None:
    """End a live round in the store, which its room follows; what was answered stays. Raises BadInput for learners, and
    where the round has ended already."""
    only_instructor(identity)
    record = store.round(round_id)
    if record.kind != "live":
        raise BadInput(f"Quiz round {round_id} is not a live one; it ends with its last answer.")
    former = RoundState.from_json(record.state)
    store.set_round_state(round_id, state.end(former).as_json(), ended=True, former=former.version)
    measurement.cancel(store, former.runs)
