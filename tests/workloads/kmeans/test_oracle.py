"""One process against scikit-learn from the same start."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from mpi4py import MPI

from tests.workloads.kmeans.oracle import blobs, equal_up_to_ties, exact_inertia, sklearn_fit
from workshop.engine.context import RankContext
from workshop.workloads.kmeans.lloyd import fit, kernel, lloyd, mean_variance, plus_plus, random_points

BACKENDS = ["numpy", "numba"]
DTYPES = ["float32", "float64"]


def ours(backend, points, begin, iterations, tolerance):
    return fit(RankContext(MPI.COMM_SELF), kernel(backend), points, begin, iterations, tolerance)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("features", "clusters"), [(3, 16), (13, 7)])
def test_the_same_result_as_scikit_learn(backend, dtype, features, clusters):
    points = blobs(5003, features, clusters, dtype)
    begin = points[:clusters].copy()
    for iterations, tolerance in [(1, 0.0), (8, 0.0), (300, 1e-4), (300, 0.0)]:
        centroids, inertia, number, labels = ours(backend, points, begin, iterations, tolerance)
        model = sklearn_fit(points, begin, iterations, tolerance)
        assert inertia == pytest.approx(model.inertia_, rel=1e-4)
        assert inertia == pytest.approx(exact_inertia(points, centroids), rel=1e-4)
        if iterations < 300 or dtype == "float64":
            assert number == model.n_iter_
            np.testing.assert_allclose(centroids, model.cluster_centers_, rtol=1e-5 if dtype == "float32" else 1e-12)
            assert equal_up_to_ties(points, centroids, labels, model.labels_, 1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_empty_cluster_moves_to_the_farthest_point(backend, dtype):
    points = blobs(2000, 3, 3, dtype)
    begin = points[:6].copy()
    begin[4] = -1e3  # nobody's nearest
    for iterations in (1, 2, 50):
        centroids, inertia, _, labels = ours(backend, points, begin, iterations, 0.0)
        model = sklearn_fit(points, begin, iterations, 0.0)
        assert inertia == pytest.approx(model.inertia_, rel=1e-4)
        np.testing.assert_allclose(centroids, model.cluster_centers_, rtol=2e-5)
        assert equal_up_to_ties(points, centroids, labels, model.labels_, 1e-5)
        assert len(np.unique(labels)) == 6


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_empty_clusters_at_once(backend):
    points = blobs(500, 3, 2, "float64")
    begin = np.concatenate([points[:3], np.full((4, 3), 1e4) + np.arange(4)[:, None]])
    centroids, inertia, _, labels = ours(backend, points, begin, 1, 0.0)
    model = sklearn_fit(points, begin, 1, 0.0)
    assert inertia == pytest.approx(model.inertia_, rel=1e-9)
    # Which empty cluster takes which of the farthest points is scikit-learn's choice as well as ours.
    order = np.lexsort(centroids.T), np.lexsort(model.cluster_centers_.T)
    np.testing.assert_allclose(centroids[order[0]], model.cluster_centers_[order[1]], rtol=1e-9)
    assert len(np.unique(labels)) == 7


@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_survives_data_far_from_the_origin(backend):
    points = (blobs(4000, 3, 4, "float64") * 1e-2 + 300).astype("float32")
    begin = points[:4].copy()
    centroids, inertia, _, _ = ours(backend, points, begin, 10, 0.0)
    assert inertia == pytest.approx(exact_inertia(points, centroids), rel=1e-3)
    assert inertia == pytest.approx(sklearn_fit(points.astype(float), begin.astype(float), 10, 0.0).inertia_, rel=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_inertia_falls_and_moves_end(backend):
    ctx = RankContext(MPI.COMM_SELF)
    points = blobs(3000, 3, 8, "float64")
    shard = kernel(backend)(points, np.full(3, 50.0))
    steps = []
    for step in lloyd(ctx, shard, points[:8] - 50, 0.0):
        steps.append(step)
        if step.converged:
            break
    inertia = [step.inertia for step in steps]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(inertia))
    assert steps[0].moved == 8 and steps[0].changed == 3000
    assert steps[-1].moved == 0 and steps[-1].changed == 0
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert mean_variance(MPI.COMM_SELF, shard) == pytest.approx(points.var(axis=0).mean())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_plus_plus_starts_as_well_as_scikit_learn(backend, dtype):
    points = blobs(3000, 3, 20, dtype)
    shard = kernel(backend)(points, np.full(3, 50, dtype))
    found = [exact_inertia(points, plus_plus(MPI.COMM_SELF, shard, 20, seed) + 50) for seed in range(12)]
    from sklearn.cluster import kmeans_plusplus

    theirs = [exact_inertia(points, kmeans_plusplus(points, 20, random_state=seed)[0]) for seed in range(12)]
    assert np.median(found) == pytest.approx(np.median(theirs), rel=0.15)


@pytest.mark.parametrize("backend", BACKENDS)
def test_starts_are_points_of_the_data(backend):
    points = blobs(400, 3, 5, "float64")
    shard = kernel(backend)(points, np.zeros(3))
    for choose in (plus_plus, random_points):
        found = choose(MPI.COMM_SELF, shard, 30, 1)
        assert len(np.unique(found, axis=0)) == 30
        assert set(map(tuple, found)) <= set(map(tuple, points))
        np.testing.assert_array_equal(found, choose(MPI.COMM_SELF, shard, 30, 1))
        assert not np.array_equal(found, choose(MPI.COMM_SELF, shard, 30, 2))
    assert len(np.unique(random_points(MPI.COMM_SELF, shard, 400, 1), axis=0)) == 400
