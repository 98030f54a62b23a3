"""Attack and defence in a federation: how far each institution's update lies from the others', by round."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import plotly.graph_objects as go

from workshop.report.figures import theme

HONEST, POISONED = theme.ACCENT, theme.RANKS[4]  # far apart for any colour vision
APART = 0.08  # powers of ten that two numbers need between them
WRITTEN = 24  # institutions up to which every line has its number at its end


def distances(rounds: Sequence[int], told: Mapping[int, Sequence[float]], poisoned: Collection[int] = ()) -> go.Figure:
    """A line for each institution (counted from 1) from its distances [rounds], NaN where there is none; those that
    are known to be poisoned are dashed, in another colour. Distances differ by powers of ten: the axis is logarithmic.
    """
    if not rounds or not told:
        return theme.nothing_yet("No round is over yet")
    traces, ends, named = [], [], set()
    for one, values in told.items():
        kind = "poisoned" if one in poisoned else "honest"
        there = [value if math.isfinite(value) and value > 0 else None for value in values]
        traces.append(
            go.Scatter(
                x=list(rounds),
                y=there,
                name=kind,
                legendgroup=kind,
                showlegend=bool(poisoned) and kind not in named,
                mode="lines+markers",
                line={"color": POISONED if kind == "poisoned" else HONEST, "width": 2, "dash": _dash(kind)},
                marker={"size": 7, "symbol": "diamond" if kind == "poisoned" else "circle"},
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


def _dash(kind: str) -> str:
    return "dash" if kind == "poisoned" else "solid"


def _numbers(ends: Sequence[tuple[int, int, float]]) -> list[dict[str, object]]:
    """Institutions' numbers at the ends of their lines, those that lie far off first; where there is no room, the
    number is left out, and the pointer tells it."""
    notes: list[dict[str, object]] = []
    for one, at, value in sorted(ends, key=lambda end: -end[2]):
        place = math.log10(value)
        if all(abs(place - note["y"]) > APART or at != note["x"] for note in notes):
            font = {"size": 14, "color": theme.INK}
            there = {"x": at, "y": place, "xanchor": "left", "xshift": 6}
            notes.append({**there, "text": str(one), "showarrow": False, "font": font})
    return notes
