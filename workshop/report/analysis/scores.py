"""Scores of models on held-out images, from 0 to 1, and how sure a difference of two is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from workshop.report.analysis.findings import Facts


def margin(facts: Facts, one: float, other: float) -> float:
    """Twice the standard error of the difference of two scores on so many images. Each has sqrt(p (1 - p) / n), the
    largest that a mean of values from 0 to 1 can have, or the measured one. Both scores use the same images, so the
    margin is rather too large. Another seed's effect isn't in it."""
    tested = max(facts.metrics.get("held_out_images") or 1, 1)
    deviation = facts.metrics.get("held_out_deviation")  # of the scores of images, where it was measured
    if number(deviation):
        return 2 * deviation * math.sqrt(2 / tested)
    return 2 * math.sqrt((one * (1 - one) + other * (1 - other)) / tested)


def held_out(facts: Facts, way: str) -> float | None:
    """What a way of learning came to on held-out images; None where that isn't known."""
    ways = facts.metrics.get("by_way")
    told = ways.get(way) if isinstance(ways, Mapping) else None
    score = told.get("held_out_score") if isinstance(told, Mapping) else None
    return score if number(score) else None


def percent(value: float) -> str:
    """A score as a percentage: 93.1 %."""
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    """A difference of two percentages."""
    return f"{100 * value:.1f} points"


def number(value: Any) -> TypeGuard[float]:
    """Whether this is one, and finite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
