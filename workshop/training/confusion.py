"""The confusion matrix of a classifier: how often each class was read as which."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workshop.report.figures import theme

CELL = 32  # pixels of a row


def confusion_matrix(counts: Sequence[Sequence[int]]) -> go.Figure:
    """Counts [classes][classes], the true class down and the answer across. Only mistakes are coloured: the right
    answers are many times as frequent, and would hide them."""
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
