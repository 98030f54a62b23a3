"""Bands of curves over several seeds."""

from __future__ import annotations

import math

from workshop.workloads.federated.study.plan import band


def test_a_band_is_over_the_rounds_that_all_have() -> None:
    found = band([{1: 0.1, 2: 0.3, 3: 0.9}, {1: 0.3, 2: 0.5}])
    assert found is not None
    assert (found.rounds, found.lows, found.highs, found.seeds) == ((1, 2), (0.1, 0.3), (0.3, 0.5), 2)
    assert all(math.isclose(mean, value) for mean, value in zip(found.means, (0.2, 0.4), strict=True))
    assert band([]) is None
    assert band([{1: 0.1}, {2: 0.3}]) is None
