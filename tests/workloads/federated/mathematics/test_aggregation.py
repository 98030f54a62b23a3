"""The aggregator's arithmetic against references written another way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.mathematics.aggregation import FedAdam, FedAvg, combined, mean, relative_spread

VALUES = st.floats(-10, 10, width=32)


@st.composite
def rounds(draw):
    many, size = draw(st.integers(1, 6)), draw(st.integers(1, 20))
    updates = draw(arrays(np.float32, (many, size), elements=VALUES))
    counts = draw(st.lists(st.integers(1, 1000), min_size=many, max_size=many))
    return list(updates), counts


def asked(**values):
    return WORKLOAD.check({"institutions": 6, **values})


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


@settings(deadline=None)
@given(rounds())
def test_drift_is_the_spread_around_the_mean_over_its_length(given_round):
    updates, counts = given_round
    repeated = np.repeat(np.array(updates, np.float64), counts, axis=0)
    centre = repeated.mean(axis=0)
    spread = math.sqrt(np.square(repeated - centre).sum(axis=1).mean())
    found = relative_spread(updates, counts) * np.linalg.norm(centre)
    assert found == pytest.approx(spread, rel=1e-6, abs=1e-6)


def test_updates_that_agree_do_not_drift():
    same = np.array([3, 4], np.float32)
    assert relative_spread([same, same], [1, 9]) == 0
    assert relative_spread([same], [5]) == 0
    east, north = np.array([2, 0], np.float32), np.array([0, 2], np.float32)
    assert relative_spread([east, north], [1, 1]) == pytest.approx(1.0)  # as far apart as they have in common
    assert relative_spread([east, -east], [1, 1]) == 0.0  # no mean to compare with


FIVE = {one: np.array([one, 1, -one], np.float32) for one in (0, 1, 2, 3, 100)}
COUNTS = {0: 1, 1: 2, 2: 3, 3: 4, 100: 5}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, np.average(list(FIVE.values()), axis=0, weights=list(COUNTS.values()))),
        ({"rule": "median"}, [2, 1, -2]),
        ({"rule": "trimmed"}, [2, 1, -2]),
    ],
)
def test_the_rule_that_was_asked_for_is_taken(values, expected):
    found = combined(FIVE, COUNTS, asked(**values))
    np.testing.assert_allclose(found.update, expected)
    assert max(found.distances, key=found.distances.get) == 100
    assert found.distances[2] == pytest.approx(np.median([2, 1, 1, 98]) * math.sqrt(2))


def test_what_is_no_number_is_dropped_and_trimming_may_then_leave_nothing():
    bad = np.full(3, np.nan, np.float32)
    found = combined({**FIVE, 1: bad}, COUNTS, asked())
    assert found.dropped == [1]
    np.testing.assert_allclose(
        found.update, np.average([FIVE[o] for o in (0, 2, 3, 100)], axis=0, weights=(1, 3, 4, 5))
    )
    assert combined(dict.fromkeys(FIVE, bad), COUNTS, asked()).update is None
    left = combined({0: FIVE[0], 1: FIVE[1], 2: bad}, COUNTS, asked(rule="trimmed"))
    assert left.update is None
    assert left.dropped == [2]
