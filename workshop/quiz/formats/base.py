"""What all formats share: what is read and written, and what got lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workshop.quiz.deck import Deck


@dataclass(frozen=True)
class Lost:
    """Something that a format can't carry, or that a deck can't hold."""

    question: str  # its id or its title; empty: the whole deck
    what: str  # in words
    part: str = ""  # a field of the question or of the deck; `question`: all of it; empty: none that a deck has

    def __str__(self) -> str:
        return f"{self.question}: {self.what}" if self.question else self.what

    def as_json(self) -> dict[str, Any]:
        return {"question": self.question or None, "part": self.part or None, "what": self.what}


@dataclass(frozen=True)
class Imported:
    deck: Deck
    lost: tuple[Lost, ...] = ()
    pictures: Mapping[str, bytes] = field(default_factory=dict)  # by their names in the deck


@dataclass(frozen=True)
class Exported:
    data: bytes
    lost: tuple[Lost, ...] = ()
