"""Scores of models on held-out images, from 0 to 1, as texts."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

from workshop.core.words import quantity


def percent(value: float) -> str:
    """A score as a percentage: 93.1 %."""
    return quantity(100 * value, "%")


def points(value: float) -> str:
    """A difference of two percentages."""
    return quantity(100 * value, "points")


def number(value: Any) -> TypeGuard[float]:
    """Whether this is one, and finite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
