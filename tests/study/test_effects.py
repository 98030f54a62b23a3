"""Which settings mattered."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.study.results import effects


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_factors_that_multiply_are_found_again(ranks: float, threads: float) -> None:
    points = [{"ranks": a, "threads": b, "same": 0} for a, b in product((1, 2), (1, 2))]
    rates = [
        100 * (ranks if point["ranks"] == 2 else 1) * (threads if point["threads"] == 2 else 1) for point in points
    ]
    found = {effect.axis: effect for effect in effects(points, rates)}
    assert set(found) == {"ranks", "threads"}, "what has one value has no effect"
    assert found["ranks"].factor == pytest.approx(max(ranks, 1 / ranks))
    assert found["threads"].factor == pytest.approx(max(threads, 1 / threads))
    if ranks > 1.001:
        assert (found["ranks"].best, found["ranks"].worst) == (2, 1)


def test_the_largest_comes_first() -> None:
    points = [{"a": a, "b": b} for a, b in product((None, "0"), (True, False))]
    assert [one.axis for one in effects(points, [1.0, 4.0, 2.0, 8.0])] == ["b", "a"]


def test_a_value_does_not_pay_for_its_company() -> None:
    """Two ranks, far faster than one, were only tried with one thread; on one rank, two threads are twice as fast."""
    points = [{"ranks": 1, "threads": 1}, {"ranks": 1, "threads": 2}, {"ranks": 2, "threads": 1}]
    found = {one.axis: one for one in effects(points, [10.0, 20.0, 100.0])}
    assert (found["threads"].best, found["threads"].factor) == (2, pytest.approx(2.0))
    assert (found["ranks"].best, found["ranks"].factor) == (2, pytest.approx(10.0))
    assert effects([{"a": 1, "b": 1}, {"a": 2, "b": 2}], [1.0, 2.0]) == [], "both have changed"
