"""Scores of models on held-out images, from 0 to 1, as texts."""

from __future__ import annotations

import math
from typing import Any, TypeGuard


def percent(value: float) -> str:
    """A score as a percentage: 93.1 %."""
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    """A difference of two percentages."""
    return f"{100 * value:.1f} points"


def number(value: Any) -> TypeGuard[float]:
    """Whether this is one, and finite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
