"""Throughput, speed-up, efficiency and where the time went, over numbers of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.analysis.balance import PHASES
from workshop.report.figures import theme
from workshop.report.figures.curves import number
from workshop.report.figures.times import stacked
from workshop.study.references import PublishedSpeedUp
from workshop.study.scaling.efficiency import Row

WIDE = 16  # ratio of the most to the fewest ranks from which axes are logarithmic
SYMBOLS = ("diamond-open", "square-open", "triangle-up-open", "pentagon-open")
NOTHING = "Nothing has been measured yet"


def throughput(rows: Sequence[Row], unit: str, height: int = 360) -> go.Figure:
    """Work per second over ranks, the median with the lowest and the highest repeat, and what would be ideal."""
    axis = {"title": {"text": unit}, "tickformat": "~s", "nticks": 6}
    return _over_ranks(rows, lambda row: row.throughput or 0.0, number, axis, height)


def speed_up(rows: Sequence[Row], references: Sequence[PublishedSpeedUp] = (), height: int = 360) -> go.Figure:
    """Speed-up over ranks with the ideal line, and faintly what others have published, over their workers."""
    start = next((row.ranks for row in rows if row.rates), 1)
    title = "speed-up" if start == 1 else f"speed-up over {start} ranks"
    axis = {"title": {"text": title}, "nticks": 6}
    published = [_published(one, symbol) for one, symbol in zip(references, SYMBOLS, strict=False)]
    return _over_ranks(rows, lambda row: row.speed_up or 0.0, lambda value: f"{value:.2f}x", axis, height, published)


def efficiency(rows: Sequence[Row], height: int = 300) -> go.Figure:
    """The share of the ideal that each number of ranks reaches."""
    measured = [row for row in rows if row.rates]
    if not measured:
        return theme.nothing_yet(NOTHING, height)
    values = [row.efficiency or 0.0 for row in measured]
    bars = go.Bar(
        x=[str(row.ranks) for row in measured],
        y=values,
        marker={"color": theme.ACCENT, "line": {"width": 0}},
        text=[f"<b>{100 * value:.0f} %</b>" for value in values],
        textposition="inside",
        insidetextanchor="start",  # below the interval, whose line would go through it
        textangle=0,
        textfont={"size": 16, "color": theme.PAPER},
        error_y=_interval(
            values,
            [row.reach[0] / row.ideal for row in measured],
            [row.reach[1] / row.ideal for row in measured],
            theme.INK,
        ),
        hovertemplate="%{x} ranks<br>%{y:.0%} of the ideal<extra></extra>",
    )
    highest = max([1.0, *(row.reach[1] / row.ideal for row in measured)])
    return theme.figure(
        [bars],
        bargap=0.4,
        height=height,
        showlegend=False,
        xaxis={"title": {"text": "ranks"}, "type": "category", "showgrid": False, "tickfont": {"color": theme.INK}},
        yaxis={"title": {"text": "efficiency"}, "tickformat": ".0%", "range": [0, 1.08 * highest], "nticks": 6},
        shapes=[
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": theme.IDEAL, "layer": "above"}
        ],
    )


def shares(rows: Sequence[Row]) -> go.Figure:
    """What part of the ranks' time went into which phase, a bar for each number of ranks."""
    told = [row for row in rows if row.shares]
    if not told:
        return theme.nothing_yet("No run has told how its ranks spent their time", 200)
    phases = {phase: [row.shares[phase] for row in told] for phase in PHASES}
    return stacked(
        [_ranks(row.ranks) for row in told],
        {phase: values for phase, values in phases.items() if any(values)},
        lambda value: f"{100 * value:.0f} %" if value >= 0.1 else "",
        "%{x:.1%}",
        {"title": {"text": "share of the ranks' time"}, "tickformat": ".0%", "range": [0, 1], "nticks": 6},
        200,
    )


def _ranks(count: int) -> str:
    return f"{count} rank{'' if count == 1 else 's'}"


def _published(one: PublishedSpeedUp, symbol: str) -> go.Scatter:
    """An open mark, large enough to be seen around a point of our own at the same place."""
    return go.Scatter(
        x=[one.workers],
        y=[one.speed_up],
        name=one.name,
        mode="markers",
        marker={"symbol": symbol, "size": 20, "color": theme.MUTED, "line": {"width": 1.5}},
        opacity=0.8,
        hovertemplate=f"{one.speed_up:.2f}x on {one.workers} {one.worker}s<extra>{one.name}</extra>",
    )


def _interval(values: Sequence[float], lows: Sequence[float], highs: Sequence[float], colour: str) -> dict[str, Any]:
    """From the lowest to the highest repeat."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - value for value, high in zip(values, highs, strict=True)],
        "arrayminus": [value - low for value, low in zip(values, lows, strict=True)],
        "color": colour,
        "thickness": 2,
        "width": 7,
    }


def _over_ranks(
    rows: Sequence[Row],
    of: Callable[[Row], float],
    written: Callable[[float], str],
    axis: dict[str, Any],
    height: int,
    others: Sequence[go.Scatter] = (),
) -> go.Figure:
    """A figure of each row's value with the ideal line, and a tick for each number of ranks. It says where nothing
    could be measured. `written` gives the words of a value."""
    measured = [row for row in rows if row.rates]
    if not measured:
        return theme.nothing_yet(NOTHING, height)
    ranks, values = [row.ranks for row in rows], [of(row) for row in measured]
    scale = values[0] / (measured[0].throughput or 1.0)
    lows, highs = ([scale * end(row.rates) for row in measured] for end in (min, max))
    ideal = go.Scatter(
        x=[row.ranks for row in measured],
        y=[values[0] * row.ideal for row in measured],
        name="ideal",
        mode="lines",
        line=theme.IDEAL,
        hovertemplate="ideal: %{y:.4g}<extra></extra>",
    )
    line = go.Scatter(
        x=[row.ranks for row in measured],
        y=values,
        name="measured here",
        mode="lines+markers+text",
        line={"color": theme.ACCENT, "width": 3},
        marker={"size": 11},
        text=[f"  <b>{written(value)}</b>" for value in values],
        textposition=["bottom right"] * (len(measured) - 1) + ["middle right"],
        textfont={"size": 16, "color": theme.ACCENT},
        cliponaxis=False,
        error_y=_interval(values, lows, highs, theme.ACCENT),
        hovertext=[
            f"{_ranks(row.ranks)}: {written(value)}, {low:.4g} to {high:.4g} in {len(row.rates)}"
            for row, value, low, high in zip(measured, values, lows, highs, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    wide = ranks[-1] >= WIDE * ranks[0]
    notes = [
        {
            "x": math.log10(row.ranks) if wide else row.ranks,  # as annotations want it
            "y": 0,
            "yref": "paper",
            "yanchor": "bottom",
            "text": "failed",
            "showarrow": False,
            "font": {"size": 15, "color": theme.ALARM},
        }
        for row in rows
        if row.failures and not row.rates
    ]
    top = max(*ideal.y, *highs, *(max(trace.y) for trace in others))
    span = ranks[-1] - ranks[0] or 1
    ends = [ranks[0] - 0.05 * span, ranks[-1] + 0.2 * span]  # with room for the last point's words
    return theme.figure(
        [ideal, line, *others],
        height=height,
        showlegend=True,
        xaxis={"title": {"text": "ranks"}, "tickvals": ranks, **({"type": "log"} if wide else {"range": ends})},
        yaxis={**axis, **({"type": "log"} if wide else {"range": [0, 1.1 * top]})},
        annotations=notes,
        margin={"t": 40},
    )
