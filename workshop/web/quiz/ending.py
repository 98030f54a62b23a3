"""Ending a round from a page of the dashboard. Rooms belong to the server's event loop; pages are threads beside it."""

from __future__ import annotations

import asyncio

from workshop.errors import BadInput, WorkshopError
from workshop.quiz.live import state
from workshop.quiz.live.state import RoundState
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web.actions import only_instructor
from workshop.web.quiz.commands import obey
from workshop.web.quiz.rooms import Rooms

PATIENCE = 15.0  # seconds
_serving: list[tuple[Rooms, asyncio.AbstractEventLoop]] = []  # at most one: those of this process's server


def serves(rooms: Rooms) -> None:
    """Take note, on the event loop, of the rooms that people are in."""
    _serving[:] = [(rooms, asyncio.get_running_loop())]


def end(store: Store, identity: Identity, round_id: int) -> None:
    """End a live round, and tell all who are in it; what was answered stays. Raises BadInput for learners, and where it
    has ended already."""
    only_instructor(identity)
    for rooms, loop in _serving:
        if loop.is_running():
            try:
                asyncio.run_coroutine_threadsafe(_end(rooms, round_id), loop).result(PATIENCE)
            except TimeoutError:
                raise WorkshopError("The round doesn't end; try again from its host's view.") from None
            return
    record = store.round(round_id)  # nobody has been in it since the server was started
    if record.kind != "live":
        raise BadInput(f"Quiz round {round_id} is not a live one.")
    store.set_round_state(round_id, state.end(RoundState.from_json(record.state)).as_json(), ended=True)


async def _end(rooms: Rooms, round_id: int) -> None:
    room = await rooms.room(round_id)
    await obey(room, {"do": "end", "version": room.state.version}, None)
    rooms.left(room)
