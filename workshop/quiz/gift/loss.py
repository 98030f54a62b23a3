"""What is lost where a deck is read from GIFT or written as GIFT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Loss:
    """A loss: something that GIFT can't carry, or that a deck can't contain."""

    question: str  # its id or title; empty for the whole deck
    what: str  # in words
    part: str = ""  # a field of the question or the deck; "question" for all of it; empty if decks have no such field

    def __str__(self) -> str:
        return f"{self.question}: {self.what}" if self.question else self.what

    def as_json(self) -> dict[str, Any]:
        return {"question": self.question or None, "part": self.part or None, "what": self.what}
