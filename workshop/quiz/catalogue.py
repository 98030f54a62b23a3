"""The decks of the labs. A deck is read again only when its file has changed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from workshop.core.errors import BadInput
from workshop.quiz import reader
from workshop.quiz.deck import Deck
from workshop.quiz.reader import BadDeck


def decks() -> dict[str, Deck | BadDeck]:
    """All decks by name, in the order of the course; an unreadable deck is represented by its error."""
    by_name: dict[str, Deck | BadDeck] = {}
    for name, path in reader.shipped().items():
        try:
            by_name[name] = read(path)
        except BadDeck as error:
            by_name[name] = error
    return by_name


LAB = ":lab"  # behind a deck's name: only the questions that its lab asks


def deck(name: str) -> tuple[Deck, Path]:
    """The deck of that name and the folder of its pictures; `NAME:lab` is the deck with the questions that the lab
    asks. Raises BadInput for an unknown or unreadable deck."""
    if name.endswith(LAB):
        full_deck, folder = deck(name.removesuffix(LAB))
        return full_deck.brief(), folder
    paths = reader.shipped()
    if name not in paths:
        raise BadInput(f"There is no quiz {name!r:.60}; there are {', '.join(paths)}.")
    return read(paths[name]), paths[name].parent


def read(path: Path) -> Deck:
    """The deck in a file, from the cache if the file is unchanged. Raises BadInput."""
    try:
        now = path.stat()
    except OSError as error:
        raise BadInput(f"{path} can't be read ({error.strerror}).") from None
    return _read(path, now.st_mtime_ns, now.st_size)


@lru_cache(64)
def _read(path: Path, _changed: int, _size: int) -> Deck:
    return reader.read(path)
