"""A photo before and after k-means, and the palette that was found for it."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workshop.core.words import size
from workshop.report.cards import Card, Part, figure, picture, pictures
from workshop.report.figures import marks, theme
from workshop.report.snapshot import Panel, Snapshot

PREVIEW = "preview.png"  # of a run that goes on
BEFORE = ("original.png", "input/photo")
AFTER = ("quantised.png", PREVIEW)
RESULTS = {"original.png", "quantised.png"}


def photo(snapshot: Snapshot) -> list[Card]:
    """The photo's pictures that exist already."""
    images = [
        *_picture(snapshot, BEFORE, "Before", "bytes_before"),
        *_picture(snapshot, AFTER, "After", "bytes_after"),
    ]
    parts = [pictures(images)] if images else []
    if palette := snapshot.metric("palette", list):
        parts.append(figure(palette_strip(palette, snapshot.metric("sizes", list))))
    return [Card("photo", "Photo", tuple(parts))] if parts else []


def _picture(snapshot: Snapshot, names: tuple[str, ...], label: str, count: str) -> list[Part]:
    if not snapshot.run.ended:  # results come with the end, so that nothing that is read moves before
        names = tuple(name for name in names if name not in RESULTS)
    artifact = next((name for name in names if name in snapshot.artifacts), None)
    if artifact is None:
        return []
    going_on = artifact == PREVIEW and not snapshot.run.ended
    count_value = snapshot.metric(count, int | float) if artifact != PREVIEW else None
    note = size(count_value) + " as PNG" if count_value else ""
    return [picture(snapshot.url(artifact), "So far" if going_on else label, note)]


PANELS = (
    Panel(
        "photo",
        photo,
        lambda snapshot: (list(snapshot.artifacts.values()), snapshot.run.status, snapshot.run.metrics),
        comparison=photo,
    ),
)


def palette_strip(palette: Sequence[str], sizes: Sequence[int] | None = None) -> go.Figure:
    """Colours side by side, the commonest first; widths are shares of pixels where `sizes` tells them.

    `palette` holds colours as "#rrggbb"; `sizes` the pixels of each, in the same order.
    """
    weights = list(sizes) if sizes and len(sizes) == len(palette) else [1] * len(palette)
    total = sum(weights) or 1
    traces = [
        marks.bars([weight / total], [""], colour, f"{colour}<br>{weight / total:.1%} of the pixels<extra></extra>")
        for weight, colour in sorted(zip(weights, palette, strict=True), reverse=True)
    ]
    hidden = {"visible": False}
    return theme.figure(
        traces,
        barmode="stack",
        bargap=0,
        height=56,
        showlegend=False,
        xaxis={**hidden, "range": [0, 1]},
        yaxis=hidden,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
    )
