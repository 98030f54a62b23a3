"""Where each rank's time went: computing, reading input, moving data, waiting for somebody slower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    traces = []
    for phase, seconds in phases.items():
        scaled = [value * factor for value in seconds]
        traces.append(
            go.Bar(
                y=names,
                x=scaled,
                name=phase,
                orientation="h",
                marker=theme.phase_marker(phase),
                text=[f"{value:.3g}" if longest and value >= 0.12 * longest * factor else "" for value in scaled],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"size": 15, "color": theme.PAPER if phase == "compute" else theme.INK},
                hovertemplate=f"%{{y}}<br>{phase} %{{x:.4g}} {unit}<extra></extra>",
            )
        )
    return theme.figure(
        traces,
        barmode="stack",
        bargap=0.35,
        height=max(300, min(120 + 46 * len(names), 640)),
        showlegend=True,
        xaxis={"title": {"text": "seconds" if unit == "s" else "milliseconds"}, "nticks": 6, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "showgrid": False, "type": "category", "tickfont": {"color": theme.INK}},
        legend={"traceorder": "normal"},
        margin={"t": 40},
    )
