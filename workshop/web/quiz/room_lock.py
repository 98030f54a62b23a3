"""A dashboard's hold on a live round: only one dashboard of a store has its room, since what people are told of it is
in that one's memory."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import time
from contextlib import suppress

from workshop.core.errors import BadInput, WorkshopError
from workshop.store.sessions import SILENT
from workshop.store.store import Store

HEARTBEAT = 1.0  # seconds
LOOK = 0.2  # seconds between looks at the heartbeat of somebody who may be dead


class RoomLock:
    """From `take` until `release`; the end of this process ends it."""

    def __init__(self, store: Store, round_id: int, host: str) -> None:
        self.store, self.round_id, self.host = store, round_id, host
        self._loop = asyncio.get_running_loop()
        self._ended = threading.Event()
        # Not the event loop's work: a crowd that comes at once keeps that from it for longer than it may be silent.
        threading.Thread(target=self._beat, name=f"quiz round {round_id}", daemon=True).start()

    @classmethod
    async def take(cls, store: Store, round_id: int) -> RoomLock:
        """Host a round, as the only process. Raises BadInput where there is no such round, or another living process
        hosts it; waiting for its next heartbeat shows whether it lives."""
        host, place = secrets.token_hex(8), f"process {os.getpid()} on {socket.gethostname()}"
        first = holder = await asyncio.to_thread(store.take_room, round_id, host, place)
        deadline = time.monotonic() + 2 * SILENT
        while holder is not None and first is not None:
            if holder != first or time.monotonic() > deadline:
                raise BadInput(
                    f"Round {round_id} is hosted by another dashboard, {holder.place}: open it there, or end that "
                    "dashboard to go on here."
                )
            await asyncio.sleep(LOOK)
            holder = await asyncio.to_thread(store.take_room, round_id, host, place)
        return cls(store, round_id, host)

    async def release(self) -> None:
        """Let others host it; where the store doesn't answer, they find out that it is silent."""
        self._ended.set()
        with suppress(WorkshopError):
            await asyncio.to_thread(self.store.leave_room, self.round_id, self.host)

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT) and not self._loop.is_closed():
            with suppress(WorkshopError):  # a database that is busy for a moment
                self.store.keep_room(self.round_id, self.host)
