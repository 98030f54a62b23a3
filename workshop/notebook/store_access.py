"""The store as this notebook's process has it: one for all that it shows, since a server's connections are counted."""

from __future__ import annotations

from functools import cache

from workshop.core import config
from workshop.store.store import Store


def store() -> Store:
    """The store of this process's state folder, opened once. Raises BadInput where it can't be opened."""
    return _open(config.database_url())


@cache
def _open(url: str) -> Store:
    return Store.open(url)
