"""Where each rank's time went: computing, moving data, waiting for somebody slower."""

from __future__ import annotations

import plotly.graph_objects as go

from workshop.analysis.balance import Balance
from workshop.figures import theme

WORDS = {"compute": "compute", "communicate": "communicate", "wait": "wait"}


def rank_times(times: Balance | None) -> go.Figure:
    """A stacked bar for each rank, in seconds; the same reckoning as the verdict's, see `Balance`."""
    if times is None:
        return theme.nothing_yet("No rank has told its times yet")
    ranks = list(range(len(times.compute)))
    return bars([f"rank {rank}" for rank in ranks], times.compute, [times.exchange] * len(ranks), times.waiting)


def bars(
    names: list[str],
    compute: list[float] | tuple[float, ...],
    communicate: list[float] | tuple[float, ...],
    wait: list[float] | tuple[float, ...],
) -> go.Figure:
    """Horizontal bars of seconds, the first name on top."""
    longest = max((sum(parts) for parts in zip(compute, communicate, wait, strict=True)), default=0.0)
    factor, unit = (1.0, "s") if longest >= 1 else (1e3, "ms")
    traces = []
    for phase, seconds in (("compute", compute), ("communicate", communicate), ("wait", wait)):
        scaled = [value * factor for value in seconds]
        marker: dict[str, object] = {"color": theme.PHASES[phase], "line": {"width": 0}}
        if phase == "wait":
            marker["pattern"] = {
                "shape": "/",
                "fgcolor": theme.HATCH,
                "size": 8,
                "solidity": 0.3,
                "bgcolor": theme.PHASES["wait"],
            }
        traces.append(
            go.Bar(
                y=names,
                x=scaled,
                name=WORDS[phase],
                orientation="h",
                marker=marker,
                text=[f"{value:.3g}" if longest and value >= 0.12 * longest * factor else "" for value in scaled],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"size": 15, "color": theme.PAPER if phase == "compute" else theme.INK},
                hovertemplate=f"%{{y}}<br>{WORDS[phase]} %{{x:.4g}} {unit}<extra></extra>",
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
