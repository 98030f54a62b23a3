"""One setting along an axis, and what came out of each of its values, as one line or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from workshop.core.words import quantity
from workshop.report.figures import marks, theme
from workshop.report.figures.points import (
    BEST,
    CHOSEN,
    FAILED,
    NOTHING,
    PRUNED,
    Point,
    as_axis,
    best,
    interval,
    safe,
)

Ideal = Literal["", "faster", "shorter"]
HEIGHT = 360  # pixels
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")
BELOW = {FAILED: theme.ALARM, PRUNED: theme.MUTED}


def line(
    along: Sequence[Any],
    lines: Mapping[str, Sequence[Point]],
    axis: str,
    unit: str,
    *,
    ideal: Ideal = "",
    mark: bool = True,
) -> go.Figure:
    """Medians over a setting with whiskers from the lowest to the highest repeat, the best one marked (`mark`).

    `along` are the setting's values, `lines` have a point for each of them. `ideal` draws what the first line would
    reach if it went on as it began: "faster" in proportion to the setting, "shorter" in inverse proportion.
    """
    every = [point for points in lines.values() for point in points]
    if not any(point.values for point in every):
        return theme.nothing_yet(NOTHING, HEIGHT)
    x = as_axis(along)
    along = [safe(str(value)) for value in along] if x["type"] == "category" else list(along)
    traces = [_ideal(along, next(iter(lines.values())), ideal)] if ideal and x["type"] != "category" else []
    first = 0
    for place, (name, points) in enumerate(lines.items()):
        traces.append(_line(along, points, name, place, first, unit, len(lines)))
        first += len(points)
    top = best(every)
    if mark and top is not None:
        across = [value for points in lines.values() for value, _ in zip(along, points, strict=True)]
        traces.append(_best(across[top], every[top], unit, top))
    marked = [
        {
            "x": place if x["type"] == "category" else math.log10(value) if x["type"] == "log" else value,
            "y": 0,
            "yref": "paper",
            "yanchor": "bottom",
            "text": points[place].state,
            "showarrow": False,
            "font": {"size": 15, "color": BELOW[points[place].state]},
        }
        for points in lines.values()
        for place, value in enumerate(along)
        if points[place].state in BELOW and not points[place].values
    ]
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=len(traces) > 1,
        hovermode="closest",
        xaxis={"title": {"text": axis}, **x, **_room(along, x["type"])},
        yaxis={"title": {"text": unit}, **_values(every, traces, powers=bool(ideal) and x["type"] == "log")},
        annotations=list({(note["x"], note["text"]): note for note in marked}.values()),
    )


def _line(
    along: Sequence[Any], points: Sequence[Point], name: str, place: int, first: int, unit: str, lines: int
) -> go.Scatter:
    measured = [(at, value, point) for at, (value, point) in enumerate(zip(along, points, strict=True)) if point.values]
    colour = theme.ACCENT if lines == 1 else theme.rank_colour(place)
    return marks.line(
        [value for _, value, _ in measured],
        [point.value for _, _, point in measured],
        colour,
        [point.words(unit) for *_, point in measured],
        size=11,
        symbol=SYMBOLS[place % len(SYMBOLS)],
        line={"dash": DASHES[place % len(DASHES)]},
        name=name or "measured here",
        error_y=interval([point for *_, point in measured], colour),
        customdata=[first + at for at, *_ in measured],
        **CHOSEN,
    )


def _best(x: Any, point: Point, unit: str, place: int) -> go.Scatter:
    """A ring around the best, which a legend explains."""
    name = f"best: <b>{quantity(point.value or 0.0)}</b> {unit} at {x}"
    ring = {"symbol": "circle-open", "size": 22, "line": {"width": 4}}
    texts = [point.words(unit)]
    return marks.points([x], [point.value], BEST, texts, marker=ring, name=name, customdata=[place], **CHOSEN)


def _ideal(along: Sequence[float], points: Sequence[Point], ideal: Ideal) -> go.Scatter:
    start, value = next(((at, point.value) for at, point in zip(along, points, strict=True) if point.value), (1.0, 0.0))
    power = 1 if ideal == "faster" else -1
    ahead = [at for at in along if at >= start]
    heights = [(value or 0.0) * (at / start) ** power if start else value for at in ahead]
    hover = "ideal: %{y:,.7~r}<extra></extra>"
    return marks.line(ahead, heights, theme.MUTED, hover, line=theme.IDEAL, name="ideal")


def _room(along: Sequence[Any], kind: str) -> dict[str, Any]:
    """An axis that ends a little beyond the outer points, so that their marks aren't cut off."""
    if kind == "category":
        return {"range": [-0.4, len(along) - 0.6]}
    ends = [math.log10(value) for value in (min(along), max(along))] if kind == "log" else [min(along), max(along)]
    span = ends[1] - ends[0] or 1.0
    return {"range": [ends[0] - 0.06 * span, ends[1] + 0.06 * span]}


def _values(points: Sequence[Point], traces: Sequence[go.Scatter], powers: bool) -> dict[str, Any]:
    """From zero, so that heights are in proportion; in `powers`, where only so the ideal is a straight line."""
    tops = [max(point.values) for point in points if point.values] + [max(trace.y) for trace in traces if len(trace.y)]
    form = {"nticks": 6, "tickformat": "~s" if max(tops) >= 1e4 else "~g"}
    if powers:
        lows = [min(point.values) for point in points if point.values]
        return {**form, "type": "log", "dtick": "D2" if max(tops) < 50 * min(lows) else 1}
    return {**form, "range": [0, 1.12 * max(tops) or 1.0]}
