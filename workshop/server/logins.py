"""Identities by cookie, remembered between requests, and forgotten after a logout, wherever that happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.types import Send

from workshop.core.errors import WorkshopError
from workshop.server import presence
from workshop.store.records import Identity
from workshop.store.store import Store

LOOK = 1.0  # seconds between looks at whether somebody was logged out, by this process or another one
LOOKUP = 600.0  # seconds after which everybody is looked up again: cookies end by themselves, too
OUT = 4001  # code of a close after which the pages of quizzes don't come back by themselves


class Visitors:
    """Belongs to the event loop. `key` is the hash of a cookie's secret."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, Identity] = {}
        self._changes: str | None = None
        self._looked_at = self._found_at = -LOOKUP
        self._lines: dict[asyncio.Task[None], str] = {}  # of WebSockets that are open
        self._out: set[asyncio.Task[None]] = set()
        self._watcher: asyncio.Task[None] | None = None

    async def identity(self, key: str) -> Identity | None:
        """The identity that is logged in with this cookie."""
        await self._look()
        if key not in self._known:
            known_identity = await run_in_threadpool(self.store.identity, key)
            if known_identity is None:
                return None
            self._known[key] = known_identity
        return self._known[key]

    async def serve_while_in(self, key: str, line: Coroutine[Any, Any, None], send: Send) -> None:
        """Serve a WebSocket (`line`) until it ends, or until its visitor is logged out, which closes it."""
        task = asyncio.create_task(line)
        self._lines[task] = key
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch(), name="who is still in")
        try:
            await task
        except asyncio.CancelledError:
            if task not in self._out:
                raise
        finally:
            del self._lines[task]
            if task in self._out:
                self._out.remove(task)
                with suppress(Exception):  # where it was closed already
                    await send({"type": "websocket.close", "code": OUT, "reason": "You are logged out; come in again."})

    async def _watch(self) -> None:
        while self._lines:
            await asyncio.sleep(LOOK)
            await self._look()
            lines = self._lines.values()
            visitors = {identity.id for key in lines if (identity := self._known.get(key)) is not None}
            with suppress(WorkshopError):  # a later look writes it
                await run_in_threadpool(presence.shared().write, self.store, visitors, time.time())

    async def _look(self) -> None:
        """Forget whom the store does not know as being in any more, and end their lines."""
        now = time.monotonic()
        if now - self._looked_at < LOOK:
            return
        self._looked_at = now
        with suppress(WorkshopError):  # a database that is busy for a moment
            changes = await run_in_threadpool(self.store.changes)
            if changes == self._changes and now - self._found_at < LOOKUP:
                return
            keys = {*self._known, *self._lines.values()}
            valid = await run_in_threadpool(self.store.valid_tokens, keys)
            self._changes, self._found_at = changes, now
            for key in keys - valid:
                self._known.pop(key, None)
            for task, key in self._lines.items():
                if key in keys - valid:
                    self._out.add(task)
                    task.cancel()
