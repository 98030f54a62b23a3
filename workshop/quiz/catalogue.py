"""The decks that come with the labs, read again only when their files have changed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from workshop.core.errors import BadInput
from workshop.quiz import reader
from workshop.quiz.deck import Deck
from workshop.quiz.reader import BadDeck


def decks() -> dict[str, Deck | BadDeck]:
    """All of them by name, in the order of the course; of one that can't be read what is wrong with it."""
    found: dict[str, Deck | BadDeck] = {}
    for name, path in reader.shipped().items():
        try:
            found[name] = read(path)
        except BadDeck as error:
            found[name] = error
    return found


def deck(name: str) -> tuple[Deck, Path]:
    """The deck of that name and the folder of its pictures. Raises BadInput where there is none that can be read."""
    known = reader.shipped()
    if name not in known:
        raise BadInput(f"There is no quiz {name!r:.60}; there are {', '.join(known)}.")
    return read(known[name]), known[name].parent


def read(path: Path) -> Deck:
    """A deck's file. Raises BadInput."""
    try:
        now = path.stat()
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror}).") from None
    return _read(path, now.st_mtime_ns, now.st_size)


@lru_cache(64)
def _read(path: Path, _changed: int, _size: int) -> Deck:
    return reader.read(path)
