"""Rules that compare updates, against NumPy and SciPy over all values at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from scipy.stats import trim_mean

from workshop.workloads.federated.mathematics import aggregation

VALUES = st.floats(-1e3, 1e3, width=32)


@st.composite
def updates(draw, least=1):
    many, size = draw(st.integers(least, 7)), draw(st.integers(1, 12))
    return list(draw(arrays(np.float32, (many, size), elements=VALUES)))


@settings(deadline=None)
@given(updates())
def test_the_median_is_that_of_each_value(given_updates):
    found = aggregation.median(given_updates)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.median(np.array(given_updates, np.float64), axis=0), rtol=1e-12)


@settings(deadline=None)
@given(updates(least=3), st.integers(1, 3))
def test_the_trimmed_mean_is_that_of_scipy(given_updates, trim):
    many = len(given_updates)
    if 2 * trim >= many:
        with pytest.raises(ValueError, match=f"{many} updates can't be trimmed by {trim}"):
            aggregation.trimmed(given_updates, trim)
        return
    share = (trim + 0.5) / many  # SciPy cuts whole values only
    expected = trim_mean(np.array(given_updates, np.float64), share, axis=0)
    np.testing.assert_allclose(aggregation.trimmed(given_updates, trim), expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None)
@given(updates(least=2))
def test_how_far_each_lies_from_the_others_is_the_median_of_its_distances(given_updates):
    wide = np.array(given_updates, np.float64)
    distances = cdist(wide, wide)
    expected = [np.median(np.delete(row, one)) for one, row in enumerate(distances)]
    np.testing.assert_allclose(aggregation.median_distances(given_updates), expected, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("rule", [aggregation.median, lambda updates: aggregation.trimmed(updates, 2)])
def test_two_of_five_can_not_move_what_comes_out_beyond_the_honest(rule):
    honest = [np.full(4, value, np.float32) for value in (0.9, 1.0, 1.1)]
    for far in (1e6, -1e6):
        found = rule([*honest, *(np.full(4, far, np.float32),) * 2])
        assert (found >= 0.9 - 1e-6).all()
        assert (found <= 1.1 + 1e-6).all()
