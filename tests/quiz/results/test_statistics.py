"""Statistics beside SciPy's and NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from workshop.quiz.results.items import correlation, quartiles, sign_test, wilson

SHARES = st.integers(1, 3000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))
VALUES = st.lists(st.floats(0, 1e4), min_size=1, max_size=60)


@settings(deadline=None)
@given(SHARES)
def test_the_interval_is_that_of_wilson(counts: tuple[int, int]) -> None:
    right, of = counts
    expected = stats.binomtest(right, of).proportion_ci(0.95, method="wilson")
    assert wilson(right, of) == pytest.approx((expected.low, expected.high), abs=1e-9)
    low, high = wilson(right, of) or (math.nan, math.nan)
    assert 0 <= low <= right / of <= high <= 1


def test_nobody_has_no_interval() -> None:
    assert wilson(0, 0) is None
    assert wilson(1, 1) == pytest.approx((0.2065, 1.0), abs=1e-4)


@settings(deadline=None)
@given(VALUES)
def test_quartiles_are_those_of_numpy(values: list[float]) -> None:
    found = quartiles(values)
    assert found is not None
    expected = np.percentile(values, [25, 50, 75])
    assert (found.low, found.median, found.high) == pytest.approx(tuple(expected), rel=1e-9, abs=1e-9)


def test_no_values_have_no_quartiles() -> None:
    assert quartiles([]) is None


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40)), min_size=3, max_size=80))
def test_of_right_and_wrong_it_is_the_point_biserial_correlation(pairs: list[tuple[int, int]]) -> None:
    marks, scores = [float(mark) for mark, _ in pairs], [score / 40 for _, score in pairs]
    found = correlation(marks, scores)
    if len(set(marks)) == 1 or len(set(scores)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(stats.pointbiserialr(marks, scores).statistic, abs=1e-7)
        assert -1 <= (found or 0) <= 1


@pytest.mark.parametrize("pairs", [[], [(1, 0)], [(1, 0), (0, 1)]])
def test_of_two_there_is_no_correlation(pairs: list[tuple[float, float]]) -> None:
    assert correlation([mark for mark, _ in pairs], [score for _, score in pairs]) is None


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_sign_test_is_the_exact_binomial_one(gained: int, lost: int) -> None:
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert sign_test(gained, lost) == pytest.approx(expected, rel=1e-9)
