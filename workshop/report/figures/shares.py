"""Rings of shares, one ring for each whole that is compared."""

from __future__ import annotations

import math
from collections.abc import Mapping

import plotly.graph_objects as go

from workshop.core.words import percent, quantity
from workshop.report.figures import theme

NOTHING = "Nothing has told yet how it spent its time"
HEIGHT = 320  # pixels
INSIDE = 0.06  # share from which a slice has room for its own words
WRITTEN = 0.02  # share from which it has words at all: those of slivers would run into each other, or out of the figure
# Names that come in many runs keep their colours, whatever else is in the ring; others take the next of `theme.RANKS`.
COLOURS = {"train": theme.ACCENT, "training": theme.ACCENT, "evaluate": theme.RANKS[1], "evaluation": theme.RANKS[1]}


def rings(wholes: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """A ring for each whole with the shares of its parts, in their order, from the top clockwise; parts have the same
    colours in all rings.

    The parts of a whole are amounts of one unit (seconds, bytes); the ones that aren't positive are left out. The name
    of a whole stands in the middle of its ring, where a few words have room.
    """
    amounts = {
        title: {name: value for name, value in parts.items() if math.isfinite(value) and value > 0}
        for title, parts in wholes.items()
    }
    rings_drawn = {title: parts for title, parts in amounts.items() if parts}
    if not rings_drawn:
        return theme.nothing_yet(NOTHING, HEIGHT)
    colours = _colours(rings_drawn)
    traces = []
    for place, (title, parts) in enumerate(rings_drawn.items()):
        total = sum(parts.values())
        part_of = {name: value / total for name, value in parts.items()}
        first, last = place / len(rings_drawn) + 0.01, (place + 1) / len(rings_drawn) - 0.01
        traces.append(
            go.Pie(
                labels=list(parts),
                values=list(parts.values()),
                title={"text": title.replace(" ", "<br>", 1) if len(title) > 12 else title, "font": {"size": 16}},
                domain={"x": [first, last]},
                hole=0.5,
                sort=False,
                direction="clockwise",
                marker={
                    "colors": [colours[name] for name in parts],
                    "line": {"color": theme.PAPER, "width": 2},
                    "pattern": {
                        "shape": ["/" if name == "wait" else "" for name in parts],
                        "fgcolor": [theme.HATCH for _ in parts],
                        "bgcolor": [colours[name] for name in parts],
                        "solidity": 0.3,
                    },
                },
                text=[_precise(share) if share >= WRITTEN else "" for share in part_of.values()],
                textinfo="text",
                textposition=["inside" if share >= INSIDE else "outside" for share in part_of.values()],
                insidetextorientation="horizontal",
                insidetextfont={"size": 17, "color": [theme.text_on(colours[name]) for name in parts]},
                outsidetextfont={"size": 15, "color": theme.INK},
                hovertext=[f"{name}: {_precise(share)}" for name, share in part_of.items()],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=True,
        legend={"y": -0.03, "yanchor": "top", "x": 0.5, "xanchor": "center", "traceorder": "normal"},
        margin={"t": 30},
    )


def _colours(rings: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """A colour for each part, no two alike as long as there are enough."""
    names = list(dict.fromkeys(name for parts in rings.values() for name in parts))
    colours = {name: colour for name in names if (colour := COLOURS.get(name) or theme.PHASES.get(name))}
    free = [colour for colour in theme.RANKS if colour not in colours.values()] or list(theme.RANKS)
    rest = [name for name in names if name not in colours]
    return colours | {name: free[number % len(free)] for number, name in enumerate(rest)}


def _precise(share: float) -> str:
    """A share that may be tiny: 0.3 %."""
    return percent(share) if share >= 0.01 else quantity(100 * share, "%")
