"""Regression in one process: any blocks give the same coefficients, and a stop ends it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI

from tests.workloads.regression.oracle import AGREE, difference, rows_of, sklearn_coefficients
from workshop.engine.context import Memory, RankContext
from workshop.workloads.regression import WORKLOAD
from workshop.workloads.regression.fit import fit
from workshop.workloads.regression.moments import SPREAD, MadeUpRows, Moments, centred


@settings(max_examples=15, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 300), max_size=6),
    features=st.sampled_from([1, 3, 35]),
    penalty=st.sampled_from([0.0, 0.5]),
)
def test_any_blocks_give_the_same_coefficients(cuts, features, penalty):
    made, targets = (array[:300] for array in rows_of(features))
    edges = [0, *sorted(cuts), 300]
    blocks = [(made[a:b], targets[a:b]) for a, b in pairwise(edges)]
    result = fit(RankContext(MPI.COMM_SELF), blocks, penalty)
    expected = sklearn_coefficients(made, targets, penalty)
    assert difference([*result.coefficients, result.intercept], expected) < AGREE
    assert result.rows == 300


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=4), features=st.sampled_from([2, 35]), dtype=st.sampled_from("fd"))
def test_any_split_among_ranks_gives_the_same_moments(cuts, features, dtype):
    made, targets = (array[:300].astype(dtype) for array in rows_of(features))
    edges = [0, *sorted(cuts), 300]
    pivot = np.append(made.mean(axis=0), targets.mean()).astype(float)
    parts = [Moments(pivot) for _ in edges[1:]]
    for moments, first, end in zip(parts, edges, edges[1:], strict=False):
        moments.add(made[first:end], targets[first:end])
    products, means, rows = centred(np.sum([moments.packed() for moments in parts], axis=0))
    exact = np.column_stack([made, targets]).astype(float)
    assert rows == 300
    np.testing.assert_allclose(means + pivot, exact.mean(axis=0), rtol=1e-12)
    centre = exact - exact.mean(axis=0)
    np.testing.assert_allclose(products, centre.T @ centre, rtol=1e-9, atol=1e-9)


def test_rows_do_not_depend_on_how_they_are_read():
    source = MadeUpRows(20_000, 3, 1.0, 5)
    features, targets = source.read(0, 20_000)
    for first, end in ((0, 1), (8191, 8193), (100, 17_000)):
        some, some_targets = source.read(first, end)
        np.testing.assert_array_equal(some, features[first:end])
        np.testing.assert_array_equal(some_targets, targets[first:end])
    values = np.linalg.svd(features - features.mean(axis=0), compute_uv=False)
    assert values[0] / values[-1] == pytest.approx(SPREAD, rel=0.1)


class Stopped(Memory):
    """A sink that asks for a stop from the first."""

    def stop_requested(self):
        return True


def test_a_stop_ends_it():
    params = WORKLOAD.check({"rows": 50_000, "mode": "streaming", "verify": True})
    metrics = WORKLOAD.load()(RankContext(MPI.COMM_SELF, Stopped()), params)
    assert metrics["stopped"] and "difference" not in metrics
    assert metrics["rows"] == 8192
