"""The presence of learners, and the last action of everybody. Pages only leave a note in memory, which takes no time;
the watcher of open lines (`workshop.web.auth_middleware`) writes the notes of all visitors together."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cache

from workshop.store.records import Attendance, Identity
from workshop.store.store import Store

EVERY = 20.0  # seconds between writes for the same identity
PRESENT = 60.0  # seconds without an open page after which somebody counts as gone


class Presence:
    """The presence of all visitors of this process; any thread may use it."""

    def __init__(self) -> None:
        self._pages: dict[int, str] = {}  # of identities
        self._parts: dict[int, str] = {}  # of these pages, where one has several
        self._actions: dict[int, tuple[str, float]] = {}  # that are not written yet
        self._written: dict[int, float] = {}

    def act(self, identity: Identity, action: str) -> None:
        """Note the last action of a visitor, in words that follow their name."""
        self._actions[identity.id] = action, time.time()

    def visit(self, identity: Identity, title: str) -> None:
        """Note that a visitor draws a page; a page that is only drawn again is no action."""
        if self._pages.get(identity.id) != title:
            self._pages[identity.id] = title
            self._parts.pop(identity.id, None)
            self.act(identity, f"opened the page {title}")

    def turn(self, identity: Identity, part: str) -> None:
        """Note which part of the page a visitor reads, such as a section of a lab; this is no action."""
        self._parts[identity.id] = part

    def page(self, identity: Identity) -> str:
        """The title and the part of the page that a visitor drew last; "" where it isn't known."""
        return ", ".join(filter(None, (self._pages.get(identity.id), self._parts.get(identity.id))))

    def write(self, store: Store, visitors: Iterable[int], now: float) -> None:
        """Write the presence and the actions of those visitors for whom nothing was written lately."""
        due = {number for number in visitors if now - self._written.get(number, 0.0) >= EVERY}
        if not due:
            return
        actions = {number: self._actions.pop(number) for number in due & self._actions.keys()}
        self._written |= dict.fromkeys(due, now)
        store.keep_presence(due, now, actions)


@cache
def shared() -> Presence:
    """The presence in this process's server."""
    return Presence()


def is_present(attendance: Attendance, now: float) -> bool:
    """Whether a page of a learner is open."""
    return attendance.seen_at is not None and now - attendance.seen_at < PRESENT
