"""Means, deviations and paired differences, held against NumPy and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from workshop.workloads.federated.study.results import Spread, band, paired

SCORES = st.floats(0.01, 1.0)
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=30)


@given(st.lists(SCORES, min_size=2, max_size=30))
def test_a_spread_is_the_sample_s(values: list[float]) -> None:
    found = Spread(tuple(values))
    assert found.mean == pytest.approx(np.mean(values))
    assert found.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert found.as_json()["low"] == min(values)


@given(PAIRS)
def test_differences_are_taken_seed_by_seed(values: list[tuple[float, float]]) -> None:
    one, other = np.array(values).T
    found = paired("federated", "alone", "held_out", values)
    assert found is not None
    assert found.mean == pytest.approx(np.mean(one - other), abs=1e-12)
    assert found.error == pytest.approx(stats.sem(one - other), abs=1e-12)
    assert found.share == pytest.approx(np.mean(one / other - 1), abs=1e-9)
    assert found.share_error == pytest.approx(stats.sem(one / other), abs=1e-9)


def test_five_seeds_that_agree_are_sure() -> None:
    found = paired("federated", "alone", "held_out", [(0.9, 0.5)] * 5)
    assert found is not None
    assert found.sure
    four = paired("federated", "alone", "held_out", [(0.9, 0.5)] * 4)
    assert four is not None
    assert (four.agreed, four.sure) == (True, False), "so few can all agree by chance"
    tied = paired("federated", "alone", "held_out", [(0.9, 0.5)] * 4 + [(0.5, 0.5)])
    assert tied is not None
    assert not tied.agreed


def test_one_seed_has_no_spread() -> None:
    found = paired("federated", "alone", "own", [(0.9, 0.6)])
    assert Spread((0.9,)).deviation is None
    assert found is not None
    assert (found.error, found.share_error, found.sure) == (None, None, False)
    assert found.share == pytest.approx(0.5)
    assert paired("federated", "alone", "own", []) is None


def test_a_band_is_over_the_rounds_that_all_have() -> None:
    found = band([{1: 0.1, 2: 0.3, 3: 0.9}, {1: 0.3, 2: 0.5}])
    assert found is not None
    assert (found.rounds, found.lows, found.highs, found.seeds) == ((1, 2), (0.1, 0.3), (0.3, 0.5), 2)
    assert all(math.isclose(mean, value) for mean, value in zip(found.means, (0.2, 0.4), strict=True))
    assert band([]) is None
    assert band([{1: 0.1}, {2: 0.3}]) is None
