"""Who and what is drawn where epsilon supposes that each is drawn by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.mathematics.sampling import batches, length, participants, sampled, share


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(1, 3), st.none() | st.integers(1, 9), st.integers(0, 99))
def test_as_many_steps_are_drawn_as_are_cut(count, batch, epochs, steps, seed):
    asked = {"epochs": epochs, "steps": steps, "seed": (seed, 1, 2)}
    found = sampled(count, batch, **asked)
    assert len(found) == length(count, batch, epochs=epochs, steps=steps) == len(batches(count, batch, **asked))
    for one in found:
        assert len(set(one.tolist())) == len(one)
        assert all(0 <= position < count for position in one)
    if batch >= count:
        assert all(len(one) == count for one in found), "everything is read in each step"
    again = sampled(count, batch, **asked)
    assert all(np.array_equal(one, other) for one, other in zip(found, again, strict=True))


def test_each_image_is_drawn_by_itself():
    found = sampled(200, 30, epochs=1, steps=2000, seed=(5, 1, 0))
    taken = np.zeros((2000, 200))
    for row, one in zip(taken, found, strict=True):
        row[one] = 1
    assert share(200, 30) == 0.15
    assert taken.mean() == pytest.approx(0.15, abs=0.003)
    assert taken.mean(axis=0).std() == pytest.approx(np.sqrt(0.15 * 0.85 / 2000), rel=0.2)
    sizes = taken.sum(axis=1)  # binomial, where cutting would give 30 each time
    assert sizes.std() == pytest.approx(np.sqrt(200 * 0.15 * 0.85), rel=0.1)
    assert abs(np.corrcoef(taken[:-1].ravel(), taken[1:].ravel())[0, 1]) < 0.01


def test_each_institution_is_drawn_by_itself_where_it_is_private():
    params = WORKLOAD.check({"institutions": 20, "participation": 0.3, "privacy": "institutions"})
    drawn = [participants(params, number) for number in range(1, 1001)]
    sizes = np.array([len(some) for some in drawn])
    assert sizes.mean() == pytest.approx(6, abs=0.25)
    assert sizes.std() == pytest.approx(np.sqrt(20 * 0.3 * 0.7), rel=0.1)
    assert all(some == sorted(set(some)) for some in drawn)
    everybody = WORKLOAD.check({"institutions": 20, "privacy": "institutions"})
    assert participants(everybody, 3) == list(range(20))
    plain = WORKLOAD.check({"institutions": 20, "participation": 0.3})
    assert {len(participants(plain, number)) for number in range(1, 50)} == {6}
