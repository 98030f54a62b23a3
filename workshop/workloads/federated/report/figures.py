"""Figures of a federation: digits by institution, accuracies by round, and distances of updates."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.figures import marks, theme

# From light to dark, so that digits without images stay white.
COUNTS = ((0.0, theme.PAPER), *((0.15 + 0.85 * place, colour) for place, colour in theme.SCALE))
WRITTEN = 24  # institutions up to which there is room for numbers
COLUMNS = 12  # rounds up to which a cell has room for its value
ROW, LEAST, MOST = 34, 170, 760  # pixels
HONEST, POISONED = theme.ACCENT, theme.RANKS[4]  # far apart for any colour vision


def shares(labels: Sequence[Sequence[int]]) -> go.Figure:
    """Draw the numbers of images by institution (rows) and digit (columns), from counts [institutions, 10]."""
    if not labels:
        return theme.nothing_yet("No images have been dealt out yet")
    most = max(max(map(max, labels)), 1)
    return _grid(
        labels,
        list(range(len(labels[0]))),
        (0, most),
        lambda count: f"{count}" if count else "",
        written=len(labels) <= WRITTEN,
        across={"title": {"text": "digit"}, "dtick": 1},
        colorscale=[list(stop) for stop in COUNTS],
        colorbar={"title": {"text": "images"}},
        hover="institution %{y}, digit %{x}<br>%{z} images<extra></extra>",
    )


def by_round(rounds: Sequence[int], accuracies: Sequence[Sequence[float]], ends: tuple[float, float]) -> go.Figure:
    """Draw accuracy by institution (rows) and round, from shares [institutions, rounds], NaN where there is none.
    Darker is better; `ends` are the ends of the scale."""
    if not rounds or not accuracies:
        return theme.nothing_yet("No round is over yet")
    few = len(rounds) <= COLUMNS
    return _grid(
        [[value if math.isfinite(value) else None for value in row] for row in accuracies],
        list(rounds),
        ends if ends[1] > ends[0] else (ends[1] - 0.01, ends[1]),
        lambda value: f"{100 * value:.0f}",
        written=few and len(accuracies) <= WRITTEN,
        across={"title": {"text": "round"}, "nticks": 10, **({"dtick": 1} if few else {})},
        xgap=1,
        colorbar={"tickformat": ".0%", "nticks": 5},
        hover="institution %{y}, round %{x}<br>%{z:.1%}<extra></extra>",
    )


def _grid(
    values: Sequence[Sequence[Any]],
    columns: Sequence[int],
    ends: tuple[float, float],
    text: Any,
    *,
    written: bool,
    across: Mapping[str, Any],
    **cells: Any,
) -> go.Figure:
    """Draw a heatmap with a row for each institution, counted from 1. `text` formats a cell's value."""
    few = len(values) <= WRITTEN
    heatmap = marks.cells(
        [list(row) for row in values],
        columns,
        list(range(1, len(values) + 1)),
        ends,
        [["" if value is None else text(value) for value in row] for row in values],
        ygap=2 if few else 0,
        showscale=not written,
        texttemplate="%{text}" if written else None,
        textfont={"size": 14},
        **cells,
    )
    down = {"title": {"text": "institution"}, "autorange": "reversed", **({"dtick": 1} if few else {"nticks": 12})}
    return theme.figure(
        [heatmap],
        height=max(LEAST, min(90 + ROW * len(values), MOST)),
        showlegend=False,
        xaxis={**across, "showgrid": False, "fixedrange": True},
        yaxis={**down, "showgrid": False, "tickfont": {"color": theme.INK}, "fixedrange": True},
    )


def distances(
    rounds: Sequence[int], by_institution: Mapping[int, Sequence[float]], poisoned: Collection[int] = ()
) -> go.Figure:
    """Draw a line for each institution (counted from 1) from its distances [rounds], NaN where there is none. Lines of
    poisoned institutions are dashed, in another colour. Distances differ by powers of ten, so the axis is logarithmic.
    """
    if not rounds or not by_institution:
        return theme.nothing_yet("No round is over yet")
    traces, named = [], set()
    for institution, values in by_institution.items():
        kind, colour, dash, symbol = (
            ("poisoned", POISONED, "dash", "diamond")
            if institution in poisoned
            else ("honest", HONEST, "solid", "circle")
        )
        line = marks.line(
            list(rounds),
            [value if math.isfinite(value) and value > 0 else None for value in values],
            colour,
            f"institution {institution}, round %{{x}}<br>%{{y:,.7~r}}<extra></extra>",
            size=7,
            symbol=symbol,
            line={"width": 2, "dash": dash},
            name=kind,
            legendgroup=kind,
            showlegend=bool(poisoned) and kind not in named,
        )
        if len(by_institution) <= WRITTEN:
            numbers = [*[""] * (len(rounds) - 1), str(institution)]
            line.update(mode="lines+markers+text", text=numbers, textposition="middle right")
        traces.append(line)
        named.add(kind)
    return theme.figure(
        traces,
        height=320,
        showlegend=bool(poisoned),
        xaxis={"title": {"text": "round"}, "nticks": 8},
        yaxis={"type": "log", "dtick": "D2", "exponentformat": "power"},
        margin={"r": 40},
    )
