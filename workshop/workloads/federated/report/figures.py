"""Figures of a federation: who has which digits, how institutions fare by round, how far their updates lie apart, what
can be seen of masked updates, and where each rank's time went."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.figures import theme

# Lighter to darker, so that what institutions lack stays white.
COUNTS = ((0.0, theme.PAPER), *((0.15 + 0.85 * place, colour) for place, colour in theme.SCALE))
WRITTEN = 24  # institutions up to which there is room for numbers
COLUMNS = 12  # rounds up to which a cell has room for its value
DARK = 0.55  # of the scale, from which words are white
ROW, LEAST, MOST = 34, 170, 760  # pixels
HONEST, POISONED = theme.ACCENT, theme.RANKS[4]  # far apart for any colour vision
APART = 0.08  # powers of ten that two numbers need between them
MESSAGE, SUM = theme.HATCH, theme.ACCENT
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
    most = max(max(map(max, labels)), 1)
    return _grid(
        labels,
        list(range(len(labels[0]))),
        (0, most),
        lambda count: f"{count}" if count else "",
        written=len(labels) <= WRITTEN,
        across={"title": {"text": "digit"}, "dtick": 1},
        colorscale=[list(stop) for stop in COUNTS],
        xgap=2,
        colorbar={"title": {"text": "images", "side": "right"}},
        hovertemplate="institution %{y}, digit %{x}<br>%{z} images<extra></extra>",
    )


def by_round(rounds: Sequence[int], accuracies: Sequence[Sequence[float]], ends: tuple[float, float]) -> go.Figure:
    """Accuracy by institution (rows) and round, from shares [institutions, rounds], NaN where there is none; darker is
    better, from the lowest to the highest of `ends`."""
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
        colorscale=[list(stop) for stop in theme.SCALE],
        xgap=1,
        colorbar={"tickformat": ".0%", "nticks": 5},
        hovertemplate="institution %{y}, round %{x}<br>%{z:.1%}<extra></extra>",
    )


def _grid(
    values: Sequence[Sequence[Any]],
    columns: Sequence[int],
    ends: tuple[float, float],
    text: Any,
    *,
    written: bool,
    across: Mapping[str, Any],
    colorbar: Mapping[str, Any],
    **cells: Any,
) -> go.Figure:
    """A row for each institution, which people count from 1; `text` writes a cell's value."""
    names, (low, high) = list(range(1, len(values) + 1)), ends
    few = len(values) <= WRITTEN
    drawn = go.Heatmap(
        z=[list(row) for row in values],
        x=columns,
        y=names,
        zmin=low,
        zmax=high,
        ygap=2 if few else 0,
        showscale=not written,
        colorbar={"outlinewidth": 0, "thickness": 16, **colorbar},
        **cells,
    )
    notes = [
        {
            **{"x": x, "y": y, "text": "" if value is None else text(value), "showarrow": False},
            "font": {"size": 14, "color": theme.PAPER if (value or 0) - low > DARK * (high - low) else theme.INK},
        }
        for y, row in zip(names, values, strict=True)
        for x, value in zip(columns, row, strict=True)
    ]
    down = {"title": {"text": "institution"}, "autorange": "reversed", **({"dtick": 1} if few else {"nticks": 12})}
    return theme.figure(
        [drawn],
        height=max(LEAST, min(90 + ROW * len(values), MOST)),
        showlegend=False,
        annotations=notes if written else [],
        xaxis={**across, "showgrid": False, "fixedrange": True},
        yaxis={**down, "showgrid": False, "tickfont": {"color": theme.INK}, "fixedrange": True},
    )


def distances(rounds: Sequence[int], told: Mapping[int, Sequence[float]], poisoned: Collection[int] = ()) -> go.Figure:
    """A line for each institution (counted from 1) from its distances [rounds], NaN where there is none; those that
    are known to be poisoned are dashed, in another colour. Distances differ by powers of ten: the axis is logarithmic.
    """
    if not rounds or not told:
        return theme.nothing_yet("No round is over yet")
    traces, ends, named = [], [], set()
    for one, values in told.items():
        kind, colour, dash, symbol = (
            ("poisoned", POISONED, "dash", "diamond") if one in poisoned else ("honest", HONEST, "solid", "circle")
        )
        there = [value if math.isfinite(value) and value > 0 else None for value in values]
        traces.append(
            go.Scatter(
                x=list(rounds),
                y=there,
                name=kind,
                legendgroup=kind,
                showlegend=bool(poisoned) and kind not in named,
                mode="lines+markers",
                line={"color": colour, "width": 2, "dash": dash},
                marker={"size": 7, "symbol": symbol},
                hovertemplate=f"institution {one}, round %{{x}}<br>%{{y:.3g}}<extra></extra>",
            )
        )
        named.add(kind)
        last = next(((at, value) for at, value in zip(rounds[::-1], there[::-1], strict=True) if value), None)
        if last is not None:
            ends.append((one, *last))
    return theme.figure(
        traces,
        height=320,
        showlegend=bool(poisoned),
        annotations=_numbers(ends) if len(told) <= WRITTEN else [],
        xaxis={"title": {"text": "round"}, "nticks": 8},
        yaxis={"type": "log", "dtick": "D2", "exponentformat": "power"},
        margin={"t": 44, "r": 40},
    )


def _numbers(ends: Sequence[tuple[int, int, float]]) -> list[dict[str, Any]]:
    """Institutions' numbers at the ends of their lines, those that lie far off first; where there is no room, the
    number is left out, and the pointer tells it."""
    notes: list[dict[str, Any]] = []
    for one, at, value in sorted(ends, key=lambda end: -end[2]):
        place = math.log10(value)
        if all(abs(place - note["y"]) > APART or at != note["x"] for note in notes):
            font = {"size": 14, "color": theme.INK}
            there = {"x": at, "y": place, "xanchor": "left", "xshift": 6}
            notes.append({**there, "text": str(one), "showarrow": False, "font": font})
    return notes


def seen(message: Sequence[float], total: Sequence[float], cancelled: bool = True) -> go.Figure:
    """Shares of the words of one masked update, and of those of the sum of all, in equal parts of what a word can be:
    from -2^63 to 2^63. `cancelled` says whether the masks are out of the sum."""
    if not message or len(message) != len(total):
        return theme.nothing_yet("No masked update has come yet")
    names = ("one masked update", "the sum of all" if cancelled else "the weighted sum of all")
    traces = [
        go.Bar(
            x=[(place + 0.5) * 2 / len(shares) - 1 for place in range(len(shares))],
            y=[float(share) for share in shares],
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"{name}<br>%{{y:.1%}} of its words<extra></extra>",
        )
        for name, shares, colour in zip(names, (message, total), (MESSAGE, SUM), strict=True)
    ]
    ends = {"tickvals": [-1, 0, 1], "ticktext": ["−2<sup>63</sup>", "0", "2<sup>63</sup>"], "range": [-1.02, 1.02]}
    return theme.figure(
        traces,
        barmode="group",
        bargap=0.15,
        height=300,
        showlegend=True,
        xaxis={"title": {"text": "value of a word"}, "showgrid": False, **ends},
        yaxis={"title": {"text": "share of the words"}, "tickformat": ".0%", "rangemode": "tozero", "nticks": 5},
        margin={"t": 48},
    )


def phase_times(seconds: Mapping[str, Sequence[float]], rounds: int) -> go.Figure:
    """Where each rank's time went in a round, on average: a stacked bar for each rank from its seconds in all rounds,
    by phase."""
    told = {phase: seconds[phase] for phase in PHASES if phase in seconds and any(seconds[phase])}
    if not told or rounds < 1:
        return theme.nothing_yet("No rank has told its times yet")
    ranks = max(map(len, told.values()))
    longest = max(sum(values[rank] for values in told.values()) for rank in range(ranks)) / rounds
    factor, unit, word = (1.0, "s", "seconds") if longest >= 1 else (1e3, "ms", "milliseconds")
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
        xaxis={"title": {"text": f"{word} in a round"}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "showgrid": False, "type": "category", "tickfont": {"color": theme.INK}},
        legend={"traceorder": "normal"},
        margin={"t": 64},
    )
