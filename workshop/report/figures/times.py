"""Where each rank's time went: computing, reading input, moving data, waiting for somebody slower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core.words import quantity
from workshop.report.analysis.balance import Balance
from workshop.report.figures import marks, theme

WHITE = ("compute", "train", "aggregate")  # dark phases


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


def bars(
    names: Sequence[str],
    phases: Mapping[str, Sequence[float]],
    axis: str = "",
    lowest: int = 300,
    markers: Mapping[str, Any] | None = None,
) -> go.Figure:
    """Horizontal bars of seconds, the first name on top; `phases` holds the seconds of each, from left to right. `axis`
    are words behind the unit."""
    longest = max((sum(parts) for parts in zip(*phases.values(), strict=True)), default=0.0)
    factor, unit = (1.0, "s") if longest >= 1 else (1e3, "ms")
    return stacked(
        names,
        {phase: [value * factor for value in seconds] for phase, seconds in phases.items()},
        lambda value: quantity(value) if longest and value >= 0.12 * longest * factor else "",
        f"%{{x:,.7~r}} {unit}",
        {
            "title": {"text": f"{'seconds' if unit == 's' else 'milliseconds'}{axis}"},
            "nticks": 6,
            "rangemode": "tozero",
        },
        lowest,
        markers,
    )


def stacked(
    names: Sequence[str],
    phases: Mapping[str, Sequence[float]],
    write_length: Callable[[float], str],
    hover: str,
    xaxis: Mapping[str, Any],
    lowest: int,
    markers: Mapping[str, Any] | None = None,
) -> go.Figure:
    """Horizontal bars, the first name on top; `phases` holds the lengths of each phase's parts, from left to right.
    `write_length` makes the text in a part, `hover` is the text that Plotly shows for it, `lowest` the least height;
    `markers` are the phases' looks, where they aren't the usual ones."""
    return marks.stacked(
        names,
        phases,
        markers or {phase: theme.phase_marker(phase) for phase in phases},
        {phase: f"%{{y}}<br>{phase} {hover}<extra></extra>" for phase in phases},
        {phase: [write_length(length) for length in lengths] for phase, lengths in phases.items()},
        WHITE,
        bargap=0.35,
        height=max(lowest, min(120 + 46 * len(names), 640)),
        xaxis=xaxis,
        margin={"t": 40 if markers is None else 64},
    )
