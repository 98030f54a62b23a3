"""Clipping and noise against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workshop.workloads.federated.mathematics.aggregation import clipped, noised

VALUES = arrays(np.float32, st.integers(1, 20), elements=st.floats(-1e3, 1e3, width=32))


@settings(deadline=None)
@given(VALUES, st.floats(1e-3, 1e5))
def test_a_clipped_update_keeps_its_direction_and_at_most_the_length_asked_for(update, clip):
    length = np.linalg.norm(update.astype(np.float64))
    found, was_longer = clipped(update, clip)
    assert found.dtype == np.float32
    assert was_longer == (length > clip)
    if not was_longer:
        assert np.array_equal(found, update)
    else:
        assert np.linalg.norm(found.astype(np.float64)) == pytest.approx(clip, rel=1e-6)
        np.testing.assert_allclose(found * (length / clip), update, rtol=1e-5, atol=1e-5 * length)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_does_not_become_one_by_clipping(bad):
    assert not np.isfinite(clipped(np.array([1, bad], np.float32), 1.0)[0]).all()


def test_noise_has_the_variance_that_epsilon_supposes():
    found = noised(np.full(200_000, 3.0), used=2, expected=4.0, spread=0.6, seed=[1, 2])
    assert found.mean() == pytest.approx(1.5, abs=0.003)  # the sum of two, over the four that were expected
    assert found.std() == pytest.approx(0.6 / 4, rel=0.01)
    again = noised(np.full(200_000, 3.0), used=2, expected=4.0, spread=0.6, seed=[1, 2])
    assert np.array_equal(found, again)
    other = noised(np.full(200_000, 3.0), used=2, expected=4.0, spread=0.6, seed=[1, 3])
    assert abs(np.corrcoef(found, other)[0, 1]) < 0.01
