"""Where each rank's time went: computing, reading input, moving data, waiting for somebody slower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.analysis.balance import Balance
from workshop.report.figures import theme


def rank_times(times: Balance | None) -> go.Figure:
    """A stacked bar for each rank, in seconds; the same reckoning as the verdict's, see `Balance`."""
    if times is None:
        return theme.nothing_yet("No rank has told its times yet")
    ranks = list(range(len(times.compute)))
    phases = {
        "compute": times.compute,
        "input": times.input,
        "communicate": [times.exchange] * len(ranks),
        "wait": times.waiting,
    }
    if not any(times.input):
        del phases["input"]
    return bars([f"rank {rank}" for rank in ranks], phases)


def bars(names: Sequence[str], phases: Mapping[str, Sequence[float]]) -> go.Figure:
    """Horizontal bars of seconds, the first name on top; `phases` holds the seconds of each, from left to right."""
    longest = max((sum(parts) for parts in zip(*phases.values(), strict=True)), default=0.0)
    factor, unit = (1.0, "s") if longest >= 1 else (1e3, "ms")
    return stacked(
        names,
        {phase: [value * factor for value in seconds] for phase, seconds in phases.items()},
        lambda value: f"{value:.3g}" if longest and value >= 0.12 * longest * factor else "",
        f"%{{x:.4g}} {unit}",
        {"title": {"text": "seconds" if unit == "s" else "milliseconds"}, "nticks": 6, "rangemode": "tozero"},
        300,
    )


def stacked(
    names: Sequence[str],
    phases: Mapping[str, Sequence[float]],
    said: Callable[[float], str],
    hover: str,
    xaxis: Mapping[str, Any],
    lowest: int,
) -> go.Figure:
    """Horizontal bars, the first name on top; `phases` holds the lengths of each phase's parts, from left to right.
    `said` is the text in a part, `hover` the text that Plotly shows for it, `lowest` the least height."""
    traces = [
        go.Bar(
            y=names,
            x=lengths,
            name=phase,
            orientation="h",
            marker=theme.phase_marker(phase),
            text=[said(length) for length in lengths],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 15, "color": theme.PAPER if phase == "compute" else theme.INK},
            hovertemplate=f"%{{y}}<br>{phase} {hover}<extra></extra>",
        )
        for phase, lengths in phases.items()
    ]
    return theme.figure(
        traces,
        barmode="stack",
        bargap=0.35,
        height=max(lowest, min(120 + 46 * len(names), 640)),
        showlegend=True,
        xaxis=xaxis,
        yaxis={"autorange": "reversed", "showgrid": False, "type": "category", "tickfont": {"color": theme.INK}},
        legend={"traceorder": "normal"},
        margin={"t": 40},
    )
