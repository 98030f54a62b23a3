"""The marks and axes of all figures, and a measured point of a study as figures take it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import plotly.graph_objects as go

from workshop.core.words import exact, quantity
from workshop.report.figures import theme

# An axis of words, the first one on top.
CATEGORIES = {"autorange": "reversed", "showgrid": False, "type": "category", "tickfont": {"color": theme.INK}}
NARROW = 0.06  # share of the longest bar from which a part has room for its value
LOW, HIGH = 300, 900  # pixels of stacked bars

Hover = str | Sequence[str]  # a template of Plotly's, or words for each mark


def _hover(words: Hover) -> dict[str, Any]:
    if isinstance(words, str):
        return {"hovertemplate": words} if words else {"hoverinfo": "skip"}
    return {"hovertext": list(words), **theme.HOVER}


def bars(
    lengths: Sequence[Any],
    places: Sequence[Any],
    colour: Any,
    hover: Hover,
    text: Sequence[str] = (),
    *,
    upright: bool = False,
    **more: Any,
) -> go.Bar:
    """Bars from left to right, or upright ones, with `text` inside of them. `colour` may be a whole marker."""
    marker = colour if isinstance(colour, Mapping) else {"color": colour}
    place = {"x": places, "y": lengths} if upright else {"x": lengths, "y": places, "orientation": "h"}
    filled = marker["color"]
    ink = theme.text_on(filled) if isinstance(filled, str) else list(map(theme.text_on, filled))
    inside = {"text": text, "textfont": {"color": ink}} if text else {}
    return go.Bar(**{**place, **inside, "marker": marker, **_hover(hover), **more})


def stacked(
    names: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    markers: Mapping[str, Any],
    unit: str,
    *,
    axis: str = "",
    anchor: str = "middle",
    more: Sequence[Any] = (),
) -> go.Figure:
    """A bar for each name, the first on top, made of `parts` from left to right, which have their values inside where
    there is room. The axis is called `axis`, or by the unit; `more` are further traces."""
    room = NARROW * max(sum(values) for values in zip(*parts.values(), strict=True))
    traces = [
        bars(
            lengths,
            names,
            markers[part],
            [f"{name}<br>{part}: {exact(value, unit)}" for name, value in zip(names, lengths, strict=True)],
            [quantity(value, "%" if unit == "%" else "") if value > room else "" for value in lengths],
            insidetextanchor=anchor,
            name=part,
        )
        for part, lengths in parts.items()
    ]
    look = {"barmode": "stack", "bargap": 0.3, "showlegend": True, "legend": {"traceorder": "normal"}}
    scale = {"title": {"text": axis or unit}, "nticks": 6, "rangemode": "tozero"}
    height = max(LOW, min(150 + 44 * len(names), HIGH))
    return theme.figure([*traces, *more], height=height, xaxis=scale, yaxis=CATEGORIES, **look)


def cells(
    values: Sequence[Sequence[Any]],
    across: Sequence[Any],
    down: Sequence[Any],
    ends: tuple[float, float],
    text: Sequence[Sequence[str]] = (),
    hover: Hover = "",
    **more: Any,
) -> go.Heatmap:
    """A cell for each value, (down, across), with `text` in it; `ends` are the ends of the scale."""
    written = {"text": text, "texttemplate": "%{text}"} if text else {}
    place = {"z": values, "x": across, "y": down, "zmin": ends[0], "zmax": ends[1]}
    return go.Heatmap(**{**place, **written, **_hover(hover), **more})


def line(
    x: Sequence[Any], y: Sequence[Any], colour: str, hover: Hover, *, size: int = 0, symbol: str = "circle", **more: Any
) -> go.Scatter:
    """A line, with marks of a `size`; `line` in `more` changes its look."""
    look = {"color": colour, **more.pop("line", {})}
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


NOTHING = "Nothing has been measured yet"
FAILED, PRUNED = "failed", "pruned"
UNDONE = {FAILED: theme.ALARM, PRUNED: theme.MUTED}  # colours of the words on what has no value
BEST = theme.OTHER
# Pages let people choose a mark; the others then stay as they are, where Plotly would have them fade.
CHOSEN: dict[str, Any] = {"unselected": {"marker": {"opacity": 1}}}


@dataclass(frozen=True)
class Point:
    """One setting with its measured repeats. A mark carries its point's position (`customdata`) for pages."""

    name: str
    values: tuple[float, ...] = ()  # none: not measured, `state` says why
    state: str = "completed"  # or waiting, running, failed, pruned …
    why: str = ""  # one sentence, where it failed or was pruned
    reached: float | None = None  # by a pruned one, until it was ended

    @property
    def value(self) -> float | None:
        """The median of the repeats."""
        return median(self.values) if self.values else None

    def words(self, unit: str) -> str:
        """All details of a point, for the box that appears beside the mouse."""
        if self.values:
            low, high, runs = quantity(min(self.values)), quantity(max(self.values)), len(self.values)
            spread = f"<br>{low} to {high} in {runs} runs" if runs > 1 else ""
            return f"{safe(self.name)}<br><b>{exact(self.value or 0.0)} {safe(unit)}</b>{spread}"
        reached = "" if self.reached is None else f" at {quantity(self.reached)} {safe(unit)}"
        why = f"<br>{safe('<br>'.join(textwrap.wrap(self.why, 60)[:4]), '<br>')}" if self.why else ""
        return f"{safe(self.name)}<br><b>{self.state}{reached}</b>{why}"


def best(points: Sequence[Point]) -> int | None:
    """The place of the best median, the first of equals; None where nothing was measured."""
    places = [place for place, point in enumerate(points) if point.values]
    return max(places, key=lambda place: points[place].value or 0.0, default=None)


def interval(points: Sequence[Point], colour: str) -> dict[str, Any]:
    """Whiskers from the lowest to the highest repeat, for points that were measured; none where none was repeated."""
    lows = [(point.value or 0.0) - min(point.values) for point in points]
    highs = [max(point.values) - (point.value or 0.0) for point in points]
    return whiskers(highs, colour) | {"symmetric": False, "arrayminus": lows, "visible": any(lows) or any(highs)}


def whiskers(lengths: Sequence[float], colour: str) -> dict[str, Any]:
    """Whiskers of these lengths on both sides."""
    return {"type": "data", "array": lengths, "color": colour, "thickness": 2, "width": 6, "visible": any(lengths)}


def safe(text: str, but: str = "") -> str:
    """Somebody's words for a place where Plotly reads tags; the tag `but` stays."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace(but.replace("<", "&lt;").replace(">", "&gt;"), but) if but else escaped


def as_axis(values: Sequence[Any]) -> dict[str, Any]:
    """How an axis shows these settings: in proportion where they are numbers that lie close enough together, in
    powers where they don't, side by side where they are words."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values) or not numbers:
        order = {"categoryorder": "array", "categoryarray": [safe(str(value)) for value in values]}
        return {"type": "category", **order, "showgrid": False, "tickfont": {"color": theme.INK}}
    ticks = {"tickvals": numbers, "ticktext": [f"{value:g}" for value in numbers]}
    low, high = min(numbers), max(numbers)
    if low > 0 and high >= 8 * low:
        return {"type": "log", **ticks}
    return {"type": "linear", **ticks}
