"""Federated learning: who has which digits, how well each institution fares by round, where each rank's time went."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.figures import theme

# Lighter to darker, so that what institutions lack stays white.
COUNTS = ((0.0, theme.PAPER), *((0.15 + 0.85 * place, colour) for place, colour in theme.SCALE))
WRITTEN = 24  # institutions up to which a row has room for numbers
COLUMNS = 12  # rounds up to which a cell has room for its value
DARK = 0.55  # of the scale, from which words are white
ROW, LEAST, MOST = 34, 170, 760  # pixels
PHASES = {
    "train": {"color": theme.PHASES["compute"]},
    "evaluate": {"color": theme.PHASES["input"]},
    "wait": theme.phase_marker("wait"),
    "encode": {"color": theme.ENCODE},
    "gather": {"color": theme.PHASES["communicate"]},
    "aggregate": {"color": theme.PHASES["update"]},
    "broadcast": {"color": theme.BROADCAST},
}


def shares(labels: Sequence[Sequence[int]]) -> go.Figure:
    """Images by institution (rows) and digit (columns), from counts [institutions, 10]; darker are more."""
    if not labels:
        return theme.nothing_yet("No images have been dealt out yet")
    digits = list(range(len(labels[0])))
    most = max(max(row) for row in labels)
    names = _numbers(len(labels))
    written = len(labels) <= WRITTEN
    cells = go.Heatmap(
        z=[list(row) for row in labels],
        x=digits,
        y=names,
        colorscale=[list(stop) for stop in COUNTS],
        zmin=0,
        zmax=max(most, 1),
        xgap=2,
        ygap=2 if written else 0,
        showscale=not written,
        colorbar={"title": {"text": "images", "side": "right"}, "outlinewidth": 0, "thickness": 16},
        text=[[f"{count:,}" for count in row] for row in labels],
        hovertemplate="institution %{y}, digit %{x}<br>%{z} images<extra></extra>",
    )
    notes = []
    if written:
        notes = [
            _written(digit, name, f"{count}" if count else "", count / max(most, 1))
            for name, row in zip(names, labels, strict=True)
            for digit, count in zip(digits, row, strict=True)
        ]
    return _grid(cells, notes, len(labels), {"title": {"text": "digit"}, "dtick": 1})


def by_round(rounds: Sequence[int], accuracies: Sequence[Sequence[float]], ends: tuple[float, float]) -> go.Figure:
    """Accuracy by institution (rows) and round, from shares [institutions, rounds], NaN where there is none; darker is
    better, from the lowest to the highest of `ends`."""
    if not rounds or not accuracies:
        return theme.nothing_yet("No round is over yet")
    low, high = ends if ends[1] > ends[0] else (ends[1] - 0.01, ends[1])
    names = _numbers(len(accuracies))
    written = len(rounds) <= COLUMNS and len(names) <= WRITTEN
    cells = go.Heatmap(
        z=[[value if math.isfinite(value) else None for value in row] for row in accuracies],
        x=list(rounds),
        y=names,
        colorscale=[list(stop) for stop in theme.SCALE],
        zmin=low,
        zmax=high,
        xgap=1,
        ygap=2 if len(names) <= WRITTEN else 0,
        showscale=not written,
        colorbar={"tickformat": ".0%", "outlinewidth": 0, "thickness": 16, "nticks": 5},
        hovertemplate="institution %{y}, round %{x}<br>%{z:.1%}<extra></extra>",
    )
    notes = []
    if written:
        notes = [
            _written(number, name, f"{100 * value:.0f}" if math.isfinite(value) else "", (value - low) / (high - low))
            for name, row in zip(names, accuracies, strict=True)
            for number, value in zip(rounds, row, strict=True)
        ]
    axis: dict[str, Any] = {"title": {"text": "round"}, "nticks": 10}
    if len(rounds) <= COLUMNS:
        axis["dtick"] = 1
    return _grid(cells, notes, len(names), axis)


def _numbers(institutions: int) -> list[int]:
    """Institutions are counted from 1 where people read them."""
    return list(range(1, institutions + 1))


def _written(x: int, y: int, text: str, share: float) -> dict[str, Any]:
    colour = theme.PAPER if share > DARK else theme.INK
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": 14, "color": colour}}


def _grid(cells: go.Heatmap, notes: list[dict[str, Any]], rows: int, across: dict[str, Any]) -> go.Figure:
    down: dict[str, Any] = {"title": {"text": "institution"}, "autorange": "reversed", "showgrid": False}
    down |= {"dtick": 1} if rows <= WRITTEN else {"nticks": 12}
    return theme.figure(
        [cells],
        height=max(LEAST, min(90 + ROW * rows, MOST)),
        showlegend=False,
        annotations=notes,
        xaxis={**across, "showgrid": False, "fixedrange": True},
        yaxis={**down, "tickfont": {"color": theme.INK}, "fixedrange": True},
    )


def phase_times(seconds: Mapping[str, Sequence[float]], rounds: int) -> go.Figure:
    """Where each rank's time went in a round, on average: a stacked bar for each rank from its seconds in all rounds,
    by phase."""
    told = {phase: seconds[phase] for phase in PHASES if phase in seconds and any(seconds[phase])}
    if not told or rounds < 1:
        return theme.nothing_yet("No rank has told its times yet")
    ranks = max(map(len, told.values()))
    longest = max(sum(values[rank] for values in told.values()) for rank in range(ranks)) / rounds
    factor, unit = (1.0, "s") if longest >= 1 else (1e3, "ms")
    traces = []
    for phase, values in told.items():
        each = [factor * value / rounds for value in values]
        traces.append(
            go.Bar(
                y=[f"rank {rank}" for rank in range(ranks)],
                x=each,
                name=phase,
                orientation="h",
                marker={"line": {"width": 0}, **PHASES[phase]},
                text=[f"{value:.3g}" if value >= 0.12 * longest * factor else "" for value in each],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"size": 15, "color": theme.PAPER if phase in ("train", "aggregate") else theme.INK},
                hovertemplate=f"%{{y}}<br>{phase} %{{x:.4g}} {unit}<extra></extra>",
            )
        )
    return theme.figure(
        traces,
        barmode="stack",
        bargap=0.35,
        height=max(260, min(120 + 46 * ranks, 640)),
        showlegend=True,
        xaxis={"title": {"text": f"{'seconds' if unit == 's' else 'milliseconds'} in a round"}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "showgrid": False, "type": "category", "tickfont": {"color": theme.INK}},
        legend={"traceorder": "normal"},
        margin={"t": 64},
    )
