"""Lines: what came out of each value of a setting along an axis, and memory over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from workshop.core.words import quantity, size
from workshop.report.figures import marks, theme
from workshop.report.figures.marks import BEST, CHOSEN, NOTHING, UNDONE, Point, as_axis, best, interval, safe

Ideal = Literal["", "faster", "shorter"]
HEIGHT = 360  # pixels
NO_MEMORY = "No rank has told yet how much memory it holds"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")


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
        theme.note(
            place if x["type"] == "category" else math.log10(value) if x["type"] == "log" else value,
            0,
            state,
            colour=UNDONE[state],
            yref="paper",
            yanchor="bottom",
        )
        for points in lines.values()
        for place, value in enumerate(along)
        if (state := points[place].state) in UNDONE and not points[place].values
    ]
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=len(traces) > 1,
        hovermode="closest",
        xaxis={"title": {"text": axis}, **x, **_room(along, x["type"])},
        yaxis=_values(every, traces, unit, powers=bool(ideal) and x["type"] == "log"),
        annotations=list({(note["x"], note["text"]): note for note in marked}.values()),
    )


def _line(
    along: Sequence[Any], points: Sequence[Point], name: str, place: int, first: int, unit: str, lines: int
) -> go.Scatter:
    places = [at for at, point in enumerate(points) if point.values]
    measured = [points[at] for at in places]
    colour = theme.ACCENT if lines == 1 else theme.rank_colour(place)
    return marks.line(
        [along[at] for at in places],
        [point.value for point in measured],
        colour,
        [point.words(unit) for point in measured],
        size=11,
        symbol=SYMBOLS[place % len(SYMBOLS)],
        line={"dash": DASHES[place % len(DASHES)]},
        name=name or "measured here",
        error_y=interval(measured, colour),
        customdata=[first + at for at in places],
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


def _values(points: Sequence[Point], traces: Sequence[go.Scatter], unit: str, powers: bool) -> dict[str, Any]:
    """From zero, so that heights are in proportion; in `powers`, where only so the ideal is a straight line."""
    top = max(max(values) for values in [*(point.values for point in points), *(trace.y for trace in traces)] if values)
    if powers:
        least = min(min(point.values) for point in points if point.values)
        return marks.values_axis(unit, top, type="log", dtick="D2" if top < 50 * least else 1)
    return marks.values_axis(unit, top, range=[0, 1.12 * top or 1.0])


def memory(lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], axis: str = "seconds") -> go.Figure:
    """Resident memory: a line for each contender or rank from its times (seconds from the start, or steps) and its
    bytes at each.

    The axis of bytes begins at zero, so that a little more looks like a little more; the legend says what each has
    gained from its first to its last point.
    """
    drawable = {name: line for name, line in lines.items() if line[1]}
    if not drawable:
        return theme.nothing_yet(NO_MEMORY)
    highest = max(max(values) for _, values in drawable.values())
    factor, unit = (1e9, "GB") if highest >= 1e9 else (1e6, "MB")
    traces = [
        marks.line(
            list(times),
            [round(value / factor, 4) for value in values],
            theme.rank_colour(place),
            [f"{quantity(at)} {axis}<br>{name}: {size(value)}" for at, value in zip(times, values, strict=True)],
            size=7 if len(values) <= 40 else 0,
            line={"dash": DASHES[place % len(DASHES)]},
            name=f"{name}: {'+' if values[-1] >= values[0] else '−'}{size(abs(values[-1] - values[0]))}",
        )
        for place, (name, (times, values)) in enumerate(drawable.items())
    ]
    return theme.figure(
        traces,
        height=320,
        showlegend=True,
        xaxis={"title": {"text": axis}, "rangemode": "tozero", "nticks": 8},
        yaxis=marks.values_axis(f"resident memory, {unit}", 0, range=[0, 1.1 * highest / factor]),
    )
