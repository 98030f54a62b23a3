"""Pushes changes to all viewers: one poller for each topic, one message for all viewers.

A topic consists of sections, pieces of JSON under names. A viewer that has just come gets all of them, later
only those that have changed since its last message. A slow viewer skips what was overtaken meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from workshop.core.errors import WorkshopError
from workshop.report.sentences import dumps

SHARE = 0.25  # of the time that one poller may keep a thread and the database busy

log = logging.getLogger(__name__)


class LiveSource(Protocol):
    """Reads one thing from the store, in a worker thread and never twice at a time."""

    every: float  # seconds until the next look

    def __call__(self) -> Mapping[str, str]:
        """Sections that may have changed, as JSON."""
        ...


class Topic:
    """The newest sections of one watched thing. Belongs to the event loop."""

    def __init__(self) -> None:
        self.version = 0
        self.viewers = 0
        self._sections: dict[str, tuple[int, str]] = {}  # name -> version of its last change, JSON
        self._messages: dict[int, str] = {}  # by the version that a viewer has
        self._changed = asyncio.Event()

    def update(self, sections: Mapping[str, str]) -> None:
        """Store sections, and wake waiting viewers if a section is new."""
        texts = {name: text for name, (_, text) in self._sections.items()}
        changed = {name: text for name, text in sections.items() if texts.get(name) != text}
        if not changed:
            return
        self.version += 1
        self._sections |= {name: (self.version, text) for name, text in changed.items()}
        self._messages = {}
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, version: int) -> None:
        """Wait until there is something newer than `version`."""
        while self.version <= version:
            await self._changed.wait()

    def message(self, version: int) -> str:
        """The changes since `version` as one JSON object, made once for all viewers with that version."""
        if version not in self._messages:
            news = [f"{dumps(name)}:{text}" for name, (at, text) in self._sections.items() if at > version]
            self._messages[version] = f'{{"version":{self.version},"sections":{{{",".join(news)}}}}}'
        return self._messages[version]


class Hub:
    """The watched topics; a topic's poller lives as long as it has viewers."""

    def __init__(self) -> None:
        self._topics: dict[Hashable, tuple[Topic, asyncio.Task[None]]] = {}

    @asynccontextmanager
    async def watch(self, key: Hashable, make_look: Callable[[], LiveSource]) -> AsyncIterator[Topic]:
        """Watch something for as long as the block lasts; `make_look` is only called for its first viewer."""
        if key not in self._topics:
            topic = Topic()
            self._topics[key] = topic, asyncio.create_task(_poll(topic, make_look()), name=f"poll {key}")
        topic, poller = self._topics[key]
        topic.viewers += 1
        try:
            yield topic
        finally:
            topic.viewers -= 1
            if topic.viewers == 0:
                del self._topics[key]
                poller.cancel()
                with suppress(asyncio.CancelledError):
                    await poller


async def _poll(topic: Topic, look: LiveSource) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        try:
            topic.update(await asyncio.to_thread(look))
        except WorkshopError as error:
            topic.update({"problem": dumps(str(error))})
        except Exception:
            # A page that stops updating is worse than a gap in it; the log says what happened.
            log.exception("could not look at what is watched")
            topic.update({"problem": dumps("The dashboard could not read this; its log says why.")})
        else:
            topic.update({"problem": "null"})
        spent = clock() - began
        await asyncio.sleep(max(look.every - spent, spent / SHARE - spent, 0.02))
