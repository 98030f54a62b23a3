"""A photo before and after k-means, and the palette that was found for it."""

from __future__ import annotations

from typing import Any

from workshop.core.words import size
from workshop.extension import Panel
from workshop.report.cards import Card, Part, figure, picture, pictures
from workshop.report.snapshot import Snapshot
from workshop.workloads.kmeans.figures import palette_strip

PREVIEW = "preview.png"  # of a run that goes on
BEFORE = ("original.png", "input/photo")
AFTER = ("quantised.png", PREVIEW)


def photo(snapshot: Snapshot) -> list[Card]:
    """Photos as far as they are there."""
    shown = [
        *_picture(snapshot, BEFORE, "Before", "bytes_before"),
        *_picture(snapshot, AFTER, "After", "bytes_after"),
    ]
    parts = [pictures(shown)] if shown else []
    if palette := snapshot.metric("palette", list):
        parts.append(figure(palette_strip(palette, snapshot.metric("sizes", list))))
    return [Card("photo", "Photo", tuple(parts))] if parts else []


def _picture(snapshot: Snapshot, names: tuple[str, ...], label: str, count: str) -> list[Part]:
    found = next((name for name in names if name in snapshot.artifacts), None)
    if found is None:
        return []
    going_on = found == PREVIEW and not snapshot.run.ended
    told = snapshot.metric(count, int | float) if found != PREVIEW else None
    note = size(told) + " as PNG" if told else ""
    return [picture(snapshot.url(found), "So far" if going_on else label, note)]


def _made_of(snapshot: Snapshot) -> Any:
    return list(snapshot.artifacts.values()), snapshot.run.status, snapshot.run.metrics


PANELS = (Panel("photo", photo, _made_of, beside=photo),)
