"""Digits that a generator has made up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workshop.report.cards import Card, about, picture, pictures
from workshop.report.snapshot import Panel, Snapshot
from workshop.report.training import panels as training_panels

GENERATED = "generated.json"
ABOUT = (
    "Nobody has written these: the generator makes them of random numbers. Below each is how the classifier reads it."
)


def generated(snapshot: Snapshot) -> list[Card]:
    """The newest digits of the run, with the classifier's label if the run has stored it."""
    if GENERATED not in snapshot.artifacts:
        return []
    digits: list[Mapping[str, Any]] = json.loads(snapshot.read(GENERATED))
    if not digits:
        return []
    labels = ["generated" if digit.get("label") is None else str(digit["label"]) for digit in digits]
    images = [
        picture(f"data:image/png;base64,{digit['png']}", label) for digit, label in zip(digits, labels, strict=True)
    ]
    return [Card("generated", "Generated digits", (about(ABOUT), pictures(images, small=True)))]


PANELS = (Panel("generated", generated, lambda snapshot: snapshot.version(GENERATED)), *training_panels.PANELS)
