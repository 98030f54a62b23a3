"""Resident memory over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from workshop.core.words import size
from workshop.report.figures import marks, theme
from workshop.report.figures.line import DASHES

NO_MEMORY = "No rank has told yet how much memory it holds"
HEIGHT = 320  # pixels
GB, MB = 1e9, 1e6


def memory(lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], axis: str = "seconds") -> go.Figure:
    """A line for each contender or rank: its times (seconds from the start, or steps) and its bytes at each.

    The axis of bytes begins at zero, so that a little more looks like a little more; the legend says what each has
    gained from its first to its last point.
    """
    drawable = {name: line for name, line in lines.items() if line[1]}
    if not drawable:
        return theme.nothing_yet(NO_MEMORY, HEIGHT)
    highest = max(max(values) for _, values in drawable.values())
    factor, unit = (GB, "GB") if highest >= GB else (MB, "MB")
    traces = [
        marks.line(
            list(times),
            [round(value / factor, 4) for value in values],
            theme.rank_colour(place),
            [size(value) for value in values],
            size=7 if len(values) <= 40 else 0,
            line={"dash": DASHES[place % len(DASHES)]},
            name=f"{name}: {'+' if values[-1] >= values[0] else '−'}{size(abs(values[-1] - values[0]))}",
            hovertemplate=f"%{{x:,.7~r}} {axis}<br>%{{hovertext}}<extra>{name}</extra>",
        )
        for place, (name, (times, values)) in enumerate(drawable.items())
    ]
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=True,
        xaxis={"title": {"text": axis}, "rangemode": "tozero", "nticks": 8},
        yaxis={"title": {"text": f"resident memory, {unit}"}, "range": [0, 1.1 * highest / factor], "nticks": 6},
    )
