"""Two settings against each other: a cell for each pair, darker where it is larger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core.words import quantity
from workshop.report.figures import marks, theme
from workshop.report.figures.marks import BEST, FAILED, NOTHING, PRUNED, UNDONE, Point, best, safe

DARK = 0.5  # share of the scale from which words are white
WRITTEN = 12  # columns up to which a cell has room for its value
ROW, MOST = 48, 760  # pixels


def heatmap(
    across: Sequence[Any],
    down: Sequence[Any],
    points: Mapping[tuple[Any, Any], Point],
    axes: tuple[str, str],
    unit: str,
    framed: bool = True,
) -> go.Figure:
    """Medians by both settings; `points` are by (value across, value down), `axes` the settings' names. The best is
    `framed`. Failed ones are white with a cross (Rawat and Kapoor 2021), pruned ones hatched with what they reached."""
    places = {where: place for place, where in enumerate(points)}
    cells = [(x, y, (a, d)) for y, d in enumerate(down) for x, a in enumerate(across) if (a, d) in points]
    values = [[point.value if (point := points.get((a, d))) else None for a in across] for d in down]
    written = len(across) <= WRITTEN
    measured = [value for row in values for value in row if value is not None]
    if not measured:
        return theme.nothing_yet(NOTHING)
    low, high = min(measured), max(measured)
    top = best(list(points.values()))
    traces: list[Any] = [
        marks.cells(
            values,
            list(range(len(across))),
            list(range(len(down))),
            (low if high > low else low - 1, high),
            showscale=not written,
            colorbar={"title": {"text": unit}},
        ),
        *_hatched([(x, y) for x, y, where in cells if _is(points[where], PRUNED)]),
        _words(cells, points, places, (low, high), unit, len(across) if written else 0),
    ]
    shapes = [_frame(x, y, theme.ALARM, 1.5, "dot") for x, y, where in cells if _is(points[where], FAILED)]
    shapes += [_frame(x, y, BEST, 4, "solid") for x, y, where in cells if framed and places[where] == top]
    return theme.figure(
        traces,
        height=min(110 + ROW * len(down), MOST),
        showlegend=False,
        hovermode="closest",
        shapes=shapes,
        xaxis=_axis(axes[0], across),
        yaxis=_axis(axes[1], down),
    )


def legend(points: Mapping[tuple[Any, Any], Point]) -> str:
    """A sentence on the meaning of the marks that a heat map has."""
    lines = ["The darker, the faster; the best cell is framed."]
    if any(_is(point, FAILED) for point in points.values()):
        lines.append("White with a cross: failed.")
    if any(_is(point, PRUNED) for point in points.values()):
        lines.append("Hatched: ended early as hopeless, with what it had reached.")
    return " ".join(lines)


def _is(point: Point, state: str) -> bool:
    return point.state == state and not point.values


def _words(
    cells: Sequence[tuple[int, int, tuple[Any, Any]]],
    points: Mapping[tuple[Any, Any], Point],
    places: Mapping[tuple[Any, Any], int],
    ends: tuple[float, float],
    unit: str,
    columns: int,
) -> go.Scatter:
    """The cells' words as marks without colour, because marks can be pointed and clicked at."""
    cell_points = [points[where] for *_, where in cells]
    texts = [_text(point) if columns or point.state == FAILED else "" for point in cell_points]
    longest = max(map(len, texts), default=1)
    size = 17 if columns <= 4 else 15 if columns * longest <= 30 else 13 if columns * longest <= 44 else 11
    return marks.points(
        [x for x, *_ in cells],
        [y for _, y, _ in cells],
        "rgba(0,0,0,0)",
        [point.words(unit) for point in cell_points],
        size=40,
        mode="markers+text",
        marker={"symbol": "square"},
        text=texts,
        textposition="middle center",
        textfont={"size": size, "color": [_ink(point, *ends) for point in cell_points]},
        customdata=[places[where] for *_, where in cells],
        selected={"marker": {"color": "rgba(213,94,0,0.25)"}, "textfont": {"color": BEST}},
        unselected={"marker": {"opacity": 1}},
    )


def _text(point: Point) -> str:
    if point.values:
        return quantity(point.value or 0.0)
    return quantity(point.reached) if point.reached is not None else "×" if point.state == FAILED else ""


def _ink(point: Point, low: float, high: float) -> str:
    if not point.values:
        return UNDONE.get(point.state, theme.MUTED)
    return theme.PAPER if high == low or ((point.value or 0.0) - low) / (high - low) > DARK else theme.INK


def _hatched(where: Sequence[tuple[int, int]]) -> list[go.Scatter]:
    """Squares with stripes, in one trace."""
    if not where:
        return []
    half = 0.48
    xs = [at for x, _ in where for at in (x - half, x + half, x + half, x - half, x - half, None)]
    ys = [at for _, y in where for at in (y - half, y - half, y + half, y + half, y - half, None)]
    stripes = {"shape": "/", "fgcolor": theme.STRIPES, "bgcolor": theme.PANEL, "size": 9, "solidity": 0.25}
    return [
        go.Scatter(x=xs, y=ys, mode="lines", line={"width": 0}, fill="toself", fillpattern=stripes, hoverinfo="skip")
    ]


def _frame(x: int, y: int, colour: str, width: float, dash: str) -> dict[str, Any]:
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "rect", "x0": x - 0.47, "x1": x + 0.47, "y0": y - 0.47, "y1": y + 0.47, "line": line}


def _axis(name: str, values: Sequence[Any]) -> dict[str, Any]:
    texts = [f"{value:g}" if isinstance(value, float) else safe(str(value)) for value in values]
    return marks.names_axis(texts, title={"text": name}, fixedrange=True)
