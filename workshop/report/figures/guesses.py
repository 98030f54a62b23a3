"""A class's guesses as bars, with the measured value among them."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workshop.report.figures import marks, theme
from workshop.report.figures.points import safe


def guesses(tally: Sequence[tuple[str, int]]) -> go.Figure:
    """A horizontal bar for each answer with how many gave it, in the given order from the top."""
    if not any(count for _, count in tally):
        return theme.nothing_yet("Nobody has guessed", 160)
    names = [safe(name) for name, _ in tally]
    counts = [count for _, count in tally]
    texts = [f"<b>{count}</b>" if count else "" for count in counts]
    hover = [f"{name}: {count}" for name, count in zip(names, counts, strict=True)]
    bars = marks.bars(counts, list(range(len(tally))), theme.ACCENT, hover, texts, theme.PAPER, insidetextanchor="end")
    return theme.figure(
        [bars],
        height=70 + 36 * len(tally),
        bargap=0.3,
        showlegend=False,
        xaxis={"title": {"text": "learners"}, "dtick": max(max(counts) // 5, 1), "range": [0, 1.05 * max(counts)]},
        yaxis=marks.names_axis(names, down=True),
    )
