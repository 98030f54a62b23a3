"""Small figures as SVG, without a script: they stretch to the width that there is, and print. Labels stand beside them
as text of the page, so that they stay readable on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from workshop.report.figures.theme import ACCENT, ALARM, INK, LINE, PANEL

RIGHT = "#009e73"  # the green that people with any colour vision tell from the other ones
WRONG = "#9fb0bd"
BINS = 20
_THIN = 'vector-effect="non-scaling-stroke"'


def bar(share: float, says: str, colour: str = ACCENT, interval: tuple[float, float] | None = None) -> str:
    """A share of 0..1 as a horizontal bar, with the ends of its interval as a line."""
    parts = [
        f'<rect width="100" height="10" fill="{PANEL}"/>',
        f'<rect width="{_at(share)}" height="10" fill="{colour}"/>',
    ]
    if interval is not None:
        low, high = _at(interval[0]), _at(interval[1])
        line = f"M{low} 5H{high}M{low} 2.5V7.5M{high} 2.5V7.5"
        parts.append(f'<path d="{line}" stroke="{INK}" stroke-width="1.5" fill="none" {_THIN}/>')
    return _svg("bar", 10, says, parts)


def histogram(values: Sequence[float], says: str, low: float, high: float, mark: float | None = None) -> str:
    """How often values come, in equal steps from low to high; `mark` is a line at a value."""
    counts = [0] * BINS
    span = high / 2 - low / 2 or 1.0  # halves: somebody may answer 1e308, and somebody else -1e308

    def across(value: float) -> float:
        return (value / 2 - low / 2) / span

    for value in values:
        counts[min(int(across(value) * BINS), BINS - 1)] += 1
    most = max(counts) or 1
    wide = 100 / BINS
    parts = [f'<path d="M0 39.5H100" stroke="{LINE}" stroke-width="1" {_THIN}/>']
    for place, count in enumerate(counts):
        if count:
            tall = round(36 * count / most, 2)
            parts.append(
                f'<rect x="{round(place * wide + 0.3, 2)}" y="{round(39 - tall, 2)}" width="{round(wide - 0.6, 2)}" '
                f'height="{tall}" fill="{ACCENT}"/>'
            )
    if mark is not None:
        at = min(max(_at(across(mark)), 0.4), 99.6)  # a line at an end is seen, too
        parts.append(f'<path d="M{at} 0V40" stroke="{ALARM}" stroke-width="2.5" {_THIN}/>')
    return _svg("histogram", 40, says, parts)


def _svg(name: str, tall: int, says: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="{name}" viewBox="0 0 100 {tall}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(says)}">{"".join(parts)}</svg>'
    )


def _at(share: float) -> float:
    return round(100 * min(max(share, 0.0), 1.0), 2)
