"""A search for the best placement: what it has cost, and the best that it had found by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import plotly.graph_objects as go

from workshop.core.words import seconds as duration
from workshop.report.figures import theme
from workshop.report.figures.curves import number
from workshop.report.figures.points import BEST, CHOSEN, FAILED, NOTHING, PRUNED, Point

WIDE = 180.0  # seconds from which the axis has minutes


@dataclass(frozen=True)
class Tried:
    """One trial, and the seconds of measuring that the search had cost when it had ended."""

    point: Point
    cost: float


def search(tried: Sequence[Tried], unit: str, reference: float | None = None, height: int = 380) -> go.Figure:
    """Trials over what the search has cost so far, in their order; a step line is the best so far. Pruned ones are
    crosses at the rate that they had reached, failed ones stand at the bottom. `reference` is a level to compare with,
    that of the naive start."""
    measured = [one for one in tried if one.point.values]
    if not measured:
        return theme.nothing_yet(NOTHING, height)
    last = max(one.cost for one in tried)
    factor, axis = (60.0, "minutes of measuring") if last >= WIDE else (1.0, "seconds of measuring")
    so_far = list(accumulate((one.point.value or 0.0 for one in measured), max))
    steps = [one.cost / factor for one in measured]
    traces = [
        go.Scatter(
            x=[*steps, last / factor],
            y=[*so_far, so_far[-1]],
            name=f"best so far: <b>{number(so_far[-1])}</b>",
            mode="lines",
            line={"color": BEST, "width": 3, "shape": "hv"},
            hovertemplate=f"best so far: %{{y:.4g}} {unit}<extra></extra>",
        ),
    ]
    marks = {
        "trial": (measured, "circle", theme.ACCENT),
        PRUNED: ([one for one in tried if not one.point.values and one.point.state == PRUNED], "x", theme.MUTED),
        FAILED: ([one for one in tried if not one.point.values and one.point.state == FAILED], "x-thin", theme.ALARM),
    }
    for name, (of, symbol, colour) in marks.items():
        if of:
            line = {"width": 2, "color": colour}
            traces.append(
                go.Scatter(
                    x=[one.cost / factor for one in of],
                    y=[_level(one) for one in of],
                    name=f"{name} ({len(of)})",
                    mode="markers",
                    marker={"symbol": symbol, "size": 11, "color": colour, "line": line},
                    **CHOSEN,
                    customdata=[tried.index(one) for one in of],
                    hovertext=[f"{one.point.words(unit)}<br>after {duration(one.cost)}" for one in of],
                    hovertemplate="%{hovertext}<extra></extra>",
                )
            )
    highest = max([*map(_level, tried), reference or 0.0])
    if reference:
        traces.append(
            go.Scatter(
                x=[0, last / factor],
                y=[reference, reference],
                name=f"naive start: {number(reference)}",
                mode="lines",
                line={"color": theme.MUTED, "width": 2, "dash": "dash"},
                hoverinfo="skip",
            )
        )
    return theme.figure(
        traces,
        height=height,
        showlegend=True,
        hovermode="closest",
        xaxis={"title": {"text": axis}, "range": [0, 1.04 * last / factor], "nticks": 8},
        yaxis={"title": {"text": unit}, "range": [-0.03 * highest, 1.1 * highest], "nticks": 6}
        | {"tickformat": "~s" if highest >= 1e4 else "~g"},
        margin={"t": 56},
    )


def _level(one: Tried) -> float:
    """What a trial has measured, or had reached when it was pruned; nothing for one that failed."""
    return one.point.value or (one.point.reached if one.point.state == PRUNED else None) or 0.0
