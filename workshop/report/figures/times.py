"""Where each rank's time went: computing, reading input, moving data, waiting for somebody slower."""

from __future__ import annotations

import plotly.graph_objects as go

from workshop.core.words import quantity
from workshop.report.analysis.balance import Balance
from workshop.report.figures import marks, theme


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
    longest = max(sum(parts) for parts in zip(*phases.values(), strict=True))
    factor, unit = (1.0, "s") if longest >= 1 else (1e3, "ms")
    lengths = {phase: [value * factor for value in seconds] for phase, seconds in phases.items()}
    return marks.stacked(
        [f"rank {rank}" for rank in ranks],
        lengths,
        {phase: theme.phase_marker(phase) for phase in phases},
        {phase: f"%{{y}}<br>{phase} %{{x:,.7~r}} {unit}<extra></extra>" for phase in phases},
        {
            phase: [quantity(value) if value > 0.12 * longest * factor else "" for value in lengths[phase]]
            for phase in phases
        },
        ("compute",),  # a dark phase
        bargap=0.35,
        height=max(300, min(120 + 46 * len(ranks), 640)),
        xaxis={
            "title": {"text": "seconds" if unit == "s" else "milliseconds"},
            "nticks": 6,
            "rangemode": "tozero",
        },
        margin={"t": 40},
    )
