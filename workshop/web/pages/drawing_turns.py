"""Turns for drawing pages: Streamlit would draw all at once, and then every page is slow. As many are drawn at once as
there are cores, one of each person. The instructor comes first, then who was served longest ago: so who opens a page
doesn't wait for those who move sliders. Streamlit itself keeps only a page's newest request."""

from __future__ import annotations

import os
import threading
import time
from bisect import insort
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count

from workshop.store.records import Identity

LONGEST_TURN = 5.0  # seconds after which a drawing, which then waits for something, holds nobody up


class DrawingTurns:
    """Any thread may take a turn."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._changed = threading.Condition()
        self._since: dict[int, float] = {}  # by identity, the beginning of the newest drawing
        self._served: dict[int, float] = {}  # by identity, the end of the newest drawing
        self._waiting: list[tuple[bool, float, int, int]] = []  # (is no instructor, served, number, identity), in order
        self._numbers = count()

    @contextmanager
    def take(self, identity: Identity) -> Iterator[None]:
        """Wait for a turn, and keep it for as long as a block lasts."""
        with self._changed:
            served = self._served.get(identity.id, 0.0)
            ticket = (identity.role != "instructor", served, next(self._numbers), identity.id)
            insort(self._waiting, ticket)
            while self._next() != ticket:
                self._changed.wait(LONGEST_TURN / 5)
            self._waiting.remove(ticket)
            since = self._since[identity.id] = time.monotonic()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._served[identity.id] = time.monotonic()
                if self._since.get(identity.id) == since:
                    del self._since[identity.id]
                self._changed.notify_all()

    def _next(self) -> tuple[bool, float, int, int] | None:
        now = time.monotonic()
        drawing = {identity for identity, since in self._since.items() if now - since < LONGEST_TURN}
        if len(drawing) >= self._places:
            return None
        return next((ticket for ticket in self._waiting if ticket[-1] not in drawing), None)


@cache
def shared() -> DrawingTurns:
    """The turns of this process's server."""
    return DrawingTurns(len(os.sched_getaffinity(0)))
