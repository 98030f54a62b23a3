"""Images per second of each rank and of all ranks together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from workshop.report.figures import marks, theme
from workshop.report.figures.curves import deviation as plain
from workshop.report.figures.curves import number

TOTAL = "all ranks"


def rank_throughput(metrics: Mapping[str, Any]) -> go.Figure:
    """A bar for each rank and one for all, in images/s, from a training run's `images_per_second_ranks` and
    `images_per_second`; their `_deviation` is drawn as the bars' intervals.

    A rank's figure counts its time within steps, the total's all time of training; so the ranks' may add up to more.
    """
    each = metrics.get("images_per_second_ranks") or []
    total, deviation = metrics.get("images_per_second"), metrics.get("images_per_second_deviation")
    if not each or not isinstance(total, int | float):
        return theme.nothing_yet("No images/s were measured")
    spread = deviation if isinstance(deviation, int | float) and math.isfinite(deviation) else 0.0
    spreads = metrics.get("images_per_second_ranks_deviation")
    if not isinstance(spreads, list) or len(spreads) != len(each):
        spreads = [0.0] * len(each)
    names = [*(f"rank {rank}" for rank in range(len(each))), TOTAL]
    values = [*each, total]
    colours = [*(theme.rank_colour(rank) for rank in range(len(each))), theme.ACCENT]
    words = [
        f"{number(value)} ± {plain(around, value)}" if around else number(value)
        for value, around in zip(values, [*spreads, spread], strict=True)
    ]
    whiskers = {"type": "data", "array": [*spreads, spread], "color": theme.INK, "thickness": 2, "width": 6}
    bar = marks.bars(
        values,
        names,
        colours,
        [f"{name}: {text} images/s" for name, text in zip(names, words, strict=True)],
        [f"<b>{text}</b>" if name == TOTAL else text for name, text in zip(names, words, strict=True)],
        [theme.text_on(colour) for colour in colours[:-1]] + [theme.PAPER],
        error_x={**whiskers, "visible": spread > 0},
    )
    return theme.figure(
        [bar],
        bargap=0.3,
        height=max(200, min(90 + 42 * len(names), 640)),
        showlegend=False,
        xaxis={"title": {"text": "images/s"}, "nticks": 6, "rangemode": "tozero", "tickformat": "~s"},
        yaxis=marks.CATEGORIES,
    )
