"""The results of imports and exports, which list what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workshop.quiz.deck import Deck


@dataclass(frozen=True)
class Lost:
    """A loss: something that a format can't carry, or that a deck can't contain."""

    question: str  # its id or title; empty for the whole deck
    what: str  # in words
    part: str = ""  # a field of the question or the deck; "question" for all of it; empty if decks have no such field

    def __str__(self) -> str:
        return f"{self.question}: {self.what}" if self.question else self.what

    def as_json(self) -> dict[str, Any]:
        return {"question": self.question or None, "part": self.part or None, "what": self.what}


@dataclass(frozen=True)
class Imported:
    deck: Deck
    lost: tuple[Lost, ...] = ()
    pictures: Mapping[str, bytes] = field(default_factory=dict)  # by file name in the deck


@dataclass(frozen=True)
class Exported:
    data: bytes
    lost: tuple[Lost, ...] = ()
