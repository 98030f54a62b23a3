"""Bars of settings that have no order: against a baseline, or side by side in groups."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from workshop.report.figures import marks, theme
from workshop.report.figures.curves import number
from workshop.report.figures.points import CHOSEN, FAILED, NOTHING, PRUNED, Point, best, interval, safe

OTHERS, BASELINE = theme.FAINT, theme.REST
HEIGHT = 380  # pixels of groups
LINE, LINES = 44, 2  # characters of a line above a bar, which a phone has room for, and lines
UNDONE = {FAILED: theme.ALARM, PRUNED: theme.MUTED}


def settings(points: Sequence[Point], unit: str, baseline: str = "") -> go.Figure:
    """A horizontal bar for each setting below its name, the first on top, with its median, its repeats' range as
    whiskers and how many times as fast as `baseline` (a point's name) it is, where a line stands. The best is dark."""
    if not any(point.values for point in points):
        return theme.nothing_yet(NOTHING)
    base = next((point for point in points if point.name == baseline and point.values), None)
    start = base.value if base else None
    top = best(points)
    measured = [(place, point) for place, point in enumerate(points) if point.values]
    names = [textwrap.wrap(point.name, LINE)[:LINES] for point in points]
    row = 34 + 20 * max(map(len, names))  # pixels
    colours = [theme.ACCENT if at == top else BASELINE if point is base else OTHERS for at, point in measured]
    places = [place for place, _ in measured]
    bars = marks.bars(
        [point.value for _, point in measured],
        places,
        colours,
        [point.words(unit) for _, point in measured],
        [f"<b>{_words(point, base, start)}</b>" for _, point in measured],
        [theme.PAPER if at == top else theme.INK for at in places],
        constraintext="none",
        cliponaxis=False,
        error_x=interval([point for _, point in measured], theme.INK),
        customdata=places,
        **CHOSEN,
    )
    highest = max(max(point.values) for _, point in measured)
    edge = {"color": theme.INK, "width": 2, "dash": "dash"}
    return theme.figure(
        [bars],
        height=70 + row * len(points),
        bargap=1 - 28 / row,
        showlegend=False,
        xaxis=marks.values_axis(unit, highest, nticks=5, range=[0, 1.06 * highest]),
        yaxis={"range": [len(points) - 0.5, -0.5 - 24 / row], "visible": False},
        shapes=[{"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": start, "x1": start, "line": edge}]
        if start is not None
        else [],
        annotations=[
            *(_name(place, lines, points[place] is base) for place, lines in enumerate(names)),
            *(_undone(place, point) for place, point in enumerate(points) if not point.values),
        ],
    )


def grouped(names: Sequence[str], groups: Mapping[str, Sequence[Point]], axis: str, unit: str) -> go.Figure:
    """Upright bars in groups: for each of `names` one bar of each contender, whose points are in the same order."""
    every = [point for points in groups.values() for point in points]
    if not any(point.values for point in every):
        return theme.nothing_yet(NOTHING, HEIGHT)
    traces, notes, first = [], [], 0
    width = 0.8 / len(groups)
    for order, (contender, points) in enumerate(groups.items()):
        measured = [(place, point) for place, point in enumerate(points) if point.values]
        shift = (order - (len(groups) - 1) / 2) * width
        colour = theme.rank_colour(order)
        traces.append(
            marks.bars(
                [point.value for _, point in measured],
                [place + shift for place, _ in measured],
                colour,
                [f"{safe(contender)}<br>{point.words(unit)}" for _, point in measured],
                [f"<b>{number(float(f'{point.value:.3g}'))}</b>" for _, point in measured],
                theme.text_on(colour),
                upright=True,
                insidetextanchor="end",
                width=0.92 * width,
                name=contender,
                error_y=interval([point for _, point in measured], theme.INK),
                customdata=[first + place for place, _ in measured],
                **CHOSEN,
            )
        )
        notes += [
            {
                "x": place + shift,
                "y": 0,
                "yref": "paper",
                "yanchor": "bottom",
                "text": safe(f"{contender}: {point.state}") if point.state else "",
                "textangle": -90,
                "showarrow": False,
                "font": {"size": 15, "color": UNDONE.get(point.state, theme.MUTED)},
            }
            for place, point in enumerate(points)
            if not point.values
        ]
        first += len(points)
    highest = max(max(point.values) for point in every if point.values)
    return theme.figure(
        traces,
        height=HEIGHT,
        barmode="overlay",
        showlegend=len(groups) > 1,
        xaxis=marks.names_axis([*map(safe, names)], title={"text": axis}),
        yaxis=marks.values_axis(unit, highest, range=[0, 1.08 * highest]),
        annotations=notes,
        margin={"t": 40},
    )


def _words(point: Point, base: Point | None, start: float | None) -> str:
    value = point.value or 0.0
    label = number(float(f"{value:.3g}")) if value < 1e4 else number(value)
    if start is None or not start:
        return label
    return f"{label} · baseline" if point is base else f"{label} · {value / start:.2f}x"


def _name(place: int, lines: Sequence[str], is_base: bool) -> dict[str, object]:
    text = "<br>".join(map(safe, lines))
    where = {"xref": "paper", "x": 0, "xanchor": "left", "y": place, "yanchor": "bottom", "yshift": 15, "align": "left"}
    return {**where, "text": f"<b>{text}</b>" if is_base else text, "showarrow": False, "font": {"size": 15}}


def _undone(place: int, point: Point) -> dict[str, object]:
    reached = f" at {number(point.reached)}" if point.reached is not None else ""
    font = {"size": 15, "color": UNDONE.get(point.state, theme.MUTED)}
    where = {"xref": "paper", "x": 0, "xanchor": "left", "y": place, "xshift": 6}
    return {**where, "text": f"{point.state}{reached}", "showarrow": False, "font": font, "hovertext": point.why}
