"""Digits that a generator has made up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workshop.extension import Panel
from workshop.report.cards import Card, line, picture, pictures, words
from workshop.report.snapshot import Snapshot

GENERATED = "generated.json"
ABOUT = (
    "Nobody has written these: the generator makes them of random numbers. Below each is how the classifier reads it."
)


def generated(snapshot: Snapshot) -> list[Card]:
    """The newest digits that the run has kept, with the classifier's reading where it tells one."""
    if GENERATED not in snapshot.artifacts:
        return []
    made: list[Mapping[str, Any]] = json.loads(snapshot.read(GENERATED))
    if not made:
        return []
    shown = [picture(f"data:image/png;base64,{one['png']}", _reading(one.get("label"))) for one in made]
    return [Card("generated", "Generated digits", (words(line(ABOUT, tone="about")), pictures(shown, small=True)))]


def _reading(label: Any) -> str:
    return "generated" if label is None else str(label)


PANELS = (Panel("generated", generated, lambda snapshot: snapshot.version(GENERATED)),)
