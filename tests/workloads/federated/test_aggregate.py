"""The aggregator's arithmetic against references written another way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workshop.workloads.federated.aggregate import FedAdam, FedAvg, drift, mean, server, usable

VALUES = st.floats(-10, 10, width=32)


@st.composite
def rounds(draw):
    many, size = draw(st.integers(1, 6)), draw(st.integers(1, 20))
    updates = draw(arrays(np.float32, (many, size), elements=VALUES))
    counts = draw(st.lists(st.integers(1, 1000), min_size=many, max_size=many))
    return list(updates), counts


@settings(deadline=None)
@given(rounds())
def test_the_mean_is_that_of_all_images(given_round):
    updates, counts = given_round
    repeated = np.repeat(np.array(updates, np.float64), counts, axis=0)  # a row for each image
    np.testing.assert_allclose(mean(updates, counts), repeated.mean(axis=0), rtol=1e-9, atol=1e-9)


@settings(deadline=None)
@given(rounds(), st.integers(0, 5))
def test_averaging_updates_is_averaging_models(given_round, seed):
    updates, counts = given_round
    model = np.random.default_rng(seed).normal(size=len(updates[0])).astype(np.float32)
    models = np.array([model.astype(np.float64) + update for update in updates])
    expected = np.average(models, axis=0, weights=counts)
    np.testing.assert_allclose(FedAvg().step(model, mean(updates, counts)), expected, rtol=1e-6, atol=1e-6)


def reference(model, updates, rate, b1=0.9, b2=0.99, tau=1e-3):
    """Algorithm 2 of Reddi et al., value by value."""
    final = []
    for place, begin in enumerate(model):
        value, first, second = float(begin), 0.0, tau * tau
        for update in updates:
            change = float(update[place])
            first = b1 * first + (1 - b1) * change
            second = b2 * second + (1 - b2) * change * change
            value = value + rate * first / (math.sqrt(second) + tau)
        final.append(value)
    return final


@settings(deadline=None)
@given(arrays(np.float64, (5, 7), elements=st.floats(-1, 1)), st.floats(1e-3, 0.1))
def test_adam_on_the_aggregator_is_that_of_the_paper(updates, rate):
    begin = np.linspace(-1, 1, 7).astype(np.float32)
    adam, model = FedAdam(rate), begin
    for update in updates:
        model = adam.step(model, update)
    assert model.dtype == np.float32
    np.testing.assert_allclose(model, reference(begin, updates, rate), rtol=1e-4, atol=1e-5)


def test_algorithms_by_name():
    assert isinstance(server("fedavg", 1.0), FedAvg)
    assert isinstance(server("fedprox", 1.0), FedAvg)
    assert server("fedadam", 0.5).rate == 0.5


def test_updates_that_agree_do_not_drift():
    same = np.array([3, 4], np.float32)
    assert drift([same, same], [1, 9]).relative == 0
    assert drift([same], [5]).distances == [0.0]


def test_drift_is_the_distance_from_the_mean_over_its_length():
    east, north = np.array([2, 0], np.float32), np.array([0, 2], np.float32)
    found = drift([east, north], [1, 1])  # the mean is (1, 1), and each is as far from it as it is long
    assert found.distances == pytest.approx([math.sqrt(2)] * 2)
    assert found.relative == pytest.approx(1.0)
    assert drift([east, -east], [1, 1]).relative == 0.0  # no mean to compare with


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_single_value_that_is_no_number_makes_an_update_unusable(bad):
    update = np.zeros(9, np.float32)
    assert usable(update)
    update[4] = bad
    assert not usable(update)
