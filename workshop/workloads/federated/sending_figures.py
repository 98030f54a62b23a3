"""What can be seen of masked updates: words that look like chance, and a sum that doesn't."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workshop.report.figures import theme

MESSAGE, SUM = theme.HATCH, theme.ACCENT


def seen(message: Sequence[float], total: Sequence[float], cancelled: bool = True) -> go.Figure:
    """Shares of the words of one masked update, and of those of the sum of all, in equal parts of what a word can be:
    from -2^63 to 2^63. `cancelled` says whether the masks are out of the sum."""
    if not message or len(message) != len(total):
        return theme.nothing_yet("No masked update has come yet")
    parts = len(message)
    middle = [(place + 0.5) * 2 / parts - 1 for place in range(parts)]
    names = ("one masked update", "the sum of all" if cancelled else "the weighted sum of all")
    traces = [
        go.Bar(
            x=middle,
            y=[float(share) for share in shares],
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"{name}<br>%{{y:.1%}} of its words<extra></extra>",
        )
        for name, shares, colour in zip(names, (message, total), (MESSAGE, SUM), strict=True)
    ]
    ends = {"tickvals": [-1, 0, 1], "ticktext": ["−2<sup>63</sup>", "0", "2<sup>63</sup>"], "range": [-1.02, 1.02]}
    return theme.figure(
        traces,
        barmode="group",
        bargap=0.15,
        height=300,
        showlegend=True,
        xaxis={"title": {"text": "value of a word"}, "showgrid": False, **ends},
        yaxis={"title": {"text": "share of the words"}, "tickformat": ".0%", "rangemode": "tozero", "nticks": 5},
        margin={"t": 48},
    )
