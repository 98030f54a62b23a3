"""The palette that k-means found for a photo."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workshop.report.figures import theme


def palette_strip(palette: Sequence[str], sizes: Sequence[int] | None = None) -> go.Figure:
    """Colours side by side, the commonest first; widths are shares of pixels where `sizes` tells them.

    `palette` holds colours as "#rrggbb"; `sizes` the pixels of each, in the same order.
    """
    weights = list(sizes) if sizes and len(sizes) == len(palette) else [1] * len(palette)
    total = sum(weights) or 1
    traces = [
        go.Bar(
            x=[weight / total],
            y=[""],
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"{colour}<br>{weight / total:.1%} of the pixels<extra></extra>",
        )
        for weight, colour in sorted(zip(weights, palette, strict=True), reverse=True)
    ]
    hidden = {"visible": False}
    return theme.figure(
        traces,
        barmode="stack",
        bargap=0,
        height=56,
        showlegend=False,
        xaxis={**hidden, "range": [0, 1]},
        yaxis=hidden,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
    )
