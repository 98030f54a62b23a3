"""A measured point of a study as figures take it, and the common parts of all figures with points."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from workshop.core.words import exact, quantity
from workshop.report.figures import theme

NOTHING = "Nothing has been measured yet"
FAILED, PRUNED = "failed", "pruned"
BEST = theme.OTHER
# Pages let people choose a mark; the others then stay as they are, where Plotly would have them fade.
CHOSEN: dict[str, Any] = {"unselected": {"marker": {"opacity": 1}}}


@dataclass(frozen=True)
class Point:
    """One setting with its measured repeats.

    Each mark carries its point's position (`customdata`), so that a page knows the clicked point.
    """

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
            spread = ""
            if len(self.values) > 1:
                spread = f"<br>{quantity(min(self.values))} to {quantity(max(self.values))} in {len(self.values)} runs"
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
    return {
        "type": "data",
        "symmetric": False,
        "array": highs,
        "arrayminus": lows,
        "color": colour,
        "thickness": 2,
        "width": 6,
        "visible": any(lows) or any(highs),
    }


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
