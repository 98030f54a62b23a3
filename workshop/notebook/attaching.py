"""A notebook's hold on the session that is up."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from workshop.placement import Placement
from workshop.session import lifecycle
from workshop.store.records import SessionRecord
from workshop.store.store import Store

if TYPE_CHECKING:
    from workshop.notebook.quiz import Quiz


class Session:
    """A session that is up, as a notebook holds it."""

    def __init__(self, store: Store, record: SessionRecord) -> None:
        self._store = store
        self._id = record.id
        self.name = record.name

    @property
    def record(self) -> SessionRecord:
        """What the store says of it now."""
        return self._store.session(self._id)

    def quiz(self, name: str) -> Quiz:
        """The questions of a lab's deck (or of a deck's file), one by one; answers that were given before come back.

        Predictions are checked against one's own runs in this session. Raises BadInput where there is no such deck.
        """
        from workshop.notebook.quiz import Quiz
        from workshop.quiz import alone, reading, shelf

        path = reading.find(name)
        mine = alone.begin(self._store, shelf.read(path), alone.Whose(None, _user()), path.parent)
        return Quiz(mine, self._id, path.parent)

    def __repr__(self) -> str:
        now = self.record
        return f"Session {now.name} is {now.state}: {Placement.parse(now.placement).describe()}"


def attach() -> Session:
    """The session that was started last and is up. Raises BadInput where there is none."""
    store = Store.open()
    try:
        return Session(store, lifecycle.newest_session(store))
    except BaseException:
        store.close()
        raise


def _user() -> str:
    """Whose answers they are: nobody has come in through a door here."""
    try:
        return getpass.getuser()[:20]
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "notebook"
