"""Figures for people who can't see them: a sentence on what a figure shows, and a table of its data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workshop.core.words import quantity

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_NAMED = 4  # lines that the sentence describes
MOST_ROWS = 100  # of the table; of more points, an even selection is shown
KINDS = {
    "bar": "Bar chart",
    "heatmap": "Heat map",
    "waterfall": "Waterfall chart",
    "box": "Box plot",
    "pie": "Pie chart",
}  # by the type of the first trace


VALUES = {"heatmap": "z", "pie": "values"}  # of other traces y


def sentence(figure: go.Figure) -> str:
    """A sentence with a figure's kind, its axes, and the range of each line. Empty without data."""
    traces = list(_traces(figure))
    if not traces:
        return ""
    kind = KINDS.get(traces[0].type, "Chart")
    axes = [title for axis in (figure.layout.yaxis, figure.layout.xaxis) if (title := _plain(axis.title.text))]
    head = f"{kind} of {' over '.join(axes)}" if axes else kind
    named = [words for trace in traces[:MOST_NAMED] if (words := _range(trace))]
    more = f", and {len(traces) - MOST_NAMED} more" if len(traces) > MOST_NAMED else ""
    return f"{head}: {'; '.join(named)}{more}." if named else f"{head}."


def table(figure: go.Figure) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a figure's data; no rows without data."""
    across = _plain(figure.layout.xaxis.title.text) or "x"
    up = _plain(figure.layout.yaxis.title.text) or "y"
    rows = [
        [_plain(trace.name) or str(number), *cells]
        for number, trace in enumerate(_traces(figure), 1)
        for cells in _cells(trace)
    ]
    if len(rows) > MOST_ROWS:
        rows = [rows[round(place * (len(rows) - 1) / (MOST_ROWS - 1))] for place in range(MOST_ROWS)]
    return ["Series", across, up, *(["value"] if any(len(row) > 3 for row in rows) else [])], rows


def _traces(figure: go.Figure) -> Iterator[Any]:
    """The traces that have data."""
    for trace in figure.data:
        if trace.visible is not False and _list(getattr(trace, VALUES.get(trace.type, "y"), None)):
            yield trace


def _cells(trace: Any) -> Iterator[list[str]]:
    if trace.type == "pie":
        yield from ([_word(label), _word(value)] for label, value in zip(trace.labels, trace.values, strict=False))
        return
    up = _list(trace.y)
    if trace.type == "heatmap":
        matrix = [_list(row) for row in _list(trace.z)]
        across = _list(trace.x) or list(range(len(matrix[0])))
        up = up or list(range(len(matrix)))
        for y, row in zip(up, matrix, strict=False):
            for x, value in zip(across, row, strict=False):
                yield [_word(x), _word(y), _word(value)]
        return
    across = _list(trace.x) or list(range(len(up)))
    for x, y in zip(across, up, strict=False):
        if y is not None:
            yield [_word(x), _word(y)]


def _range(trace: Any) -> str:
    """A series with its number of points and its range."""
    if trace.type == "heatmap":
        values = [value for row in _list(trace.z) for value in _list(row)]
    elif trace.type == "pie":
        return "; ".join(
            f"{_word(label)} {_word(value)}" for label, value in zip(trace.labels, trace.values, strict=False)
        )
    else:
        values = _list(trace.x if getattr(trace, "orientation", None) == "h" else trace.y)
    numbers = [value for value in values if isinstance(value, int | float) and math.isfinite(value)]
    if not numbers:
        return ""
    span = f"{len(numbers)} points from {_word(min(numbers))} to {_word(max(numbers))}"
    return ", ".join(filter(None, (_plain(trace.name), span if len(numbers) > 1 else _word(numbers[0]))))


def _list(values: Any) -> list[Any]:
    if values is None:
        return []
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _word(value: Any) -> str:
    return quantity(value) if isinstance(value, float) else _plain(value)


def _plain(text: Any) -> str:
    """Text without Plotly's tags."""
    return re.sub(r"<[^>]*>", " ", str(text)).strip() if text is not None else ""
