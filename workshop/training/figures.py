"""Figures of a training run: the images per second of each rank, and the confusion matrix of its classifier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.figures import marks, theme
from workshop.report.figures.curves import deviation as plain
from workshop.report.figures.curves import number

TOTAL = "all ranks"
CELL = 32  # pixels of a row of the confusion matrix


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


def confusion_matrix(counts: Sequence[Sequence[int]]) -> go.Figure:
    """How often each class was read as which, from counts [classes][classes]: the true class down, the answer across.
    Only mistakes are coloured: the right answers are many times as frequent, and would hide them."""
    classes = [str(number) for number in range(len(counts))]
    mistakes = [[0 if row == column else count for column, count in enumerate(line)] for row, line in enumerate(counts)]
    most = max(max(row) for row in mistakes) or 1
    heatmap = go.Heatmap(
        z=mistakes,
        x=classes,
        y=classes,
        text=[[str(count) if count else "" for count in line] for line in counts],
        texttemplate="%{text}",
        colorscale=[[0, theme.PANEL], [1, theme.RANKS[1]]],
        zmin=0,
        zmax=most,
        xgap=2,
        ygap=2,
        showscale=False,
        hovertemplate="%{y}, read as %{x}: %{text}<extra></extra>",
    )
    return theme.figure(
        [heatmap],
        height=100 + CELL * len(classes),
        showlegend=False,
        hovermode="closest",
        xaxis={"title": {"text": "read as"}, "type": "category", "showgrid": False},
        yaxis={"title": {"text": "digit"}, "type": "category", "autorange": "reversed", "showgrid": False},
    )
