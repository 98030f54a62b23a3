"""Curves of what ranks told over the steps of a run: inertia, loss, anything that has a value per step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from workshop.figures import theme
from workshop.store.records import Series

FEW = 60  # points up to which each one is marked


def curve(series: Sequence[Series], height: int = 300) -> go.Figure:
    """One event name over its steps, a line per rank that told it.

    Where a point stands for several events, the line is their mean and a band shows the lowest and the highest.
    """
    if not any(one.steps for one in series):
        return theme.nothing_yet("Nothing told yet", height)
    traces: list[go.Scatter] = []
    for one in series:
        colour = theme.ACCENT if len(series) == 1 else theme.rank_colour(one.rank)
        if one.count > len(one.steps):
            traces += _band(one, colour)
        traces.append(_line(one, f"rank {one.rank}", colour))
    return theme.figure(
        traces,
        height=height,
        showlegend=len(series) > 1,
        xaxis={"title": {"text": "iteration"}, "rangemode": "tozero", "nticks": 8},
        yaxis=_values(series),
        annotations=_last(series),
    )


def overlay(runs: Mapping[str, Sequence[Series]], height: int = 320) -> go.Figure:
    """One event name of several runs in one plot, a line per run (its lowest rank's), labelled by the mapping's key."""
    traces = []
    shown = [(label, min(series, key=lambda one: one.rank)) for label, series in runs.items() if series]
    for number, (label, one) in enumerate(shown):
        line = _line(one, label, theme.rank_colour(number))
        line.line.dash = "solid" if number == 0 else "dash"
        traces.append(line)
    if not traces:
        return theme.nothing_yet("Neither run told any", height)
    return theme.figure(
        traces,
        height=height,
        showlegend=True,
        xaxis={"title": {"text": "iteration"}, "rangemode": "tozero", "nticks": 8},
        yaxis=_values([one for _, one in shown]),
        margin={"t": 44},
    )


def _line(one: Series, name: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=one.steps,
        y=one.means,
        name=name,
        mode="lines+markers" if len(one.steps) <= FEW else "lines",
        line={"color": colour, "width": 3},
        marker={"size": 7},
        hovertemplate=f"iteration %{{x}}<br>%{{y:.6g}}<extra>{name}</extra>",
    )


def _band(one: Series, colour: str) -> list[go.Scatter]:
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    fill = f"rgba({red},{green},{blue},0.15)"
    return [
        go.Scatter(x=one.steps, y=one.lows, **edge),
        go.Scatter(x=one.steps, y=one.highs, fill="tonexty", fillcolor=fill, **edge),
    ]


def _last(series: Sequence[Series]) -> list[dict[str, object]]:
    """The newest value, written at the end of a single line."""
    if len(series) != 1 or not series[0].steps or not math.isfinite(series[0].means[-1]):
        return []
    one = series[0]
    return [
        {
            "x": one.steps[-1],
            "y": one.means[-1],
            "text": f"<b>{number(one.means[-1])}</b>",
            "showarrow": False,
            "xanchor": "right",
            "yanchor": "bottom",
            "yshift": 6,
            "font": {"size": 17, "color": theme.ACCENT},
        }
    ]


def number(value: float) -> str:
    """A value with four digits, and thousands and millions in the common letters: 1234567 is 1.235 M."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(factor, 1e4):
            return f"{value / factor:.4g} {letter}"
    return f"{value:.4g}"


def _values(series: Sequence[Series]) -> dict[str, object]:
    """The axis of values: powers of ten in the common way (12k) for what is large, whole numbers for few of them."""
    told = [value for one in series for value in one.means if math.isfinite(value)]
    largest = max(map(abs, told), default=0.0)
    if told and all(value == round(value) for value in told) and max(told) - min(told) < 6:
        return {"dtick": 1, "tickformat": "d"}
    return {"nticks": 6, "tickformat": "~s" if largest >= 1e4 else "~g"}
