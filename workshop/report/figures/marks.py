"""The marks of all figures: bars, lines, points and bands with words beside the mouse, and axes of names and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.figures import theme

# An axis of words, the first one on top.
CATEGORIES = {"autorange": "reversed", "showgrid": False, "type": "category", "tickfont": {"color": theme.INK}}

Hover = str | Sequence[str]  # a template of Plotly's, or words for each mark


def _hover(words: Hover) -> dict[str, Any]:
    if isinstance(words, str):
        return {"hovertemplate": words} if words else {"hoverinfo": "skip"}
    return {"hovertext": list(words), "hovertemplate": "%{hovertext}<extra></extra>"}


def bars(
    lengths: Sequence[Any],
    places: Sequence[Any],
    colour: Any,
    hover: Hover,
    text: Sequence[str] = (),
    ink: Any = theme.INK,
    *,
    upright: bool = False,
    **more: Any,
) -> go.Bar:
    """Bars from left to right, or upright ones, with `text` inside of them. `colour` may be a whole marker."""
    marker = colour if isinstance(colour, Mapping) else {"color": colour, "line": {"width": 0}}
    place = {"x": places, "y": lengths} if upright else {"x": lengths, "y": places, "orientation": "h"}
    font = {"size": 15, "color": ink}
    inside = {"textposition": "inside", "insidetextanchor": "start", "textangle": 0, "textfont": font, "text": text}
    return go.Bar(**{**place, **(inside if text else {}), "marker": marker, **_hover(hover), **more})


def stacked(
    names: Sequence[str],
    parts: Mapping[str, Sequence[Any]],
    markers: Mapping[str, Any],
    hovers: Mapping[str, str],
    texts: Mapping[str, Sequence[str]],
    white: Sequence[str],
    *,
    anchor: str = "middle",
    more: Sequence[Any] = (),
    **layout: Any,
) -> go.Figure:
    """A bar for each name, the first on top, made of `parts` from left to right. `white` are the parts with white text,
    `more` further traces."""
    traces = [
        bars(
            lengths,
            names,
            markers[part],
            hovers[part],
            texts[part],
            theme.PAPER if part in white else theme.INK,
            insidetextanchor=anchor,
            name=part,
        )
        for part, lengths in parts.items()
    ]
    look = {"barmode": "stack", "showlegend": True, "yaxis": CATEGORIES, "legend": {"traceorder": "normal"}}
    return theme.figure([*traces, *more], **{**look, **layout})


def line(
    x: Sequence[Any],
    y: Sequence[Any],
    colour: str,
    hover: Hover,
    *,
    size: int = 0,
    symbol: str = "circle",
    **more: Any,
) -> go.Scatter:
    """A line, with marks of a `size`; `line` in `more` changes its look."""
    look = {"color": colour, "width": 3, **more.pop("line", {})}
    marks = {"mode": "lines+markers", "marker": {"size": size, "symbol": symbol}} if size else {"mode": "lines"}
    return go.Scatter(**{"x": x, "y": y, "line": look, **marks, **_hover(hover), **more})


def points(
    x: Sequence[Any], y: Sequence[Any], colour: str, hover: Hover, *, size: int = 11, edge: float = 0, **more: Any
) -> go.Scatter:
    """Marks, with a white edge; `marker` in `more` changes their look."""
    marker = {"size": size, "color": colour, "line": {"width": edge, "color": theme.PAPER}, **more.pop("marker", {})}
    return go.Scatter(**{"x": x, "y": y, "mode": "markers", "marker": marker, **_hover(hover), **more})


def band(lows: Sequence[Any], highs: Sequence[Any], colour: str, opacity: float, **place: Any) -> list[go.Scatter]:
    """The area between two lines."""
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **place}
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    fill = f"rgba({red},{green},{blue},{opacity})"
    return [go.Scatter(y=lows, **edge), go.Scatter(y=highs, fill="tonexty", fillcolor=fill, **edge)]


def names_axis(names: Sequence[str], *, down: bool = False, **more: Any) -> dict[str, Any]:
    """An axis with a name at each whole number, from left to right or `down`."""
    ends = [-0.5, len(names) - 0.5]
    ticks = {"tickvals": list(range(len(names))), "ticktext": list(names), "range": ends[::-1] if down else ends}
    return {**ticks, "showgrid": False, "tickfont": {"color": theme.INK}, **more}


def values_axis(title: str, highest: float, **more: Any) -> dict[str, Any]:
    """An axis of values, large ones in short forms such as 12k."""
    return {"title": {"text": title}, "nticks": 6, "tickformat": "~s" if highest >= 1e4 else "~g", **more}
