"""The interval between checkpoints, against the minimum of the time that a training is expected to take."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import minimize_scalar

from workshop.engine.training.checkpoint import young


def expected_time(interval: float, cost: float, mtbf: float) -> float:
    """Time for one second of work with exponential failures and a restart that takes none: Daly 2006, equation 20."""
    return mtbf * math.expm1((interval + cost) / mtbf) / interval


def optimum(cost: float, mtbf: float) -> float:
    bounds = (1e-4 * mtbf, 3 * mtbf)
    found = minimize_scalar(expected_time, bounds=bounds, args=(cost, mtbf), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def test_youngs_interval_is_right_for_small_costs_and_too_long_for_large_ones() -> None:
    assert young(2.0, 100.0) == 20.0
    assert young(1e-6, 1.0) == pytest.approx(optimum(1e-6, 1.0), rel=1e-2)
    assert young(0.4, 1.0) > 1.2 * optimum(0.4, 1.0)
