"""Both kernels against the definition, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.kmeans.oracle import blobs, distances, equal_up_to_ties
from workshop.workloads.kmeans.lloyd import inertia_of
from workshop.workloads.kmeans.numba_kernel import LloydShard, NumbaShard
from workshop.workloads.kmeans.numpy_kernel import BLOCK, NumpyShard

EPSILON = {"float32": 1e-5, "float64": 1e-12}


class BoundsShard(NumbaShard):
    """Bounds also for few clusters."""

    worth = 0.0


KERNELS = [NumpyShard, BoundsShard, LloydShard]


def check(kernel, points, centre, centroids):
    """Labels, sums, counts, inertia and sums of distances of one shard against their definitions."""
    shard = kernel(points, centre)
    relative = shard.rows(np.arange(len(points)))
    epsilon = EPSILON[str(points.dtype)]
    np.testing.assert_allclose(relative + centre, points, rtol=epsilon)
    np.testing.assert_allclose(shard.total, relative.sum(axis=0, dtype=float), atol=1e-9 * max(len(points), 1))
    np.testing.assert_allclose(shard.squares, np.square(relative, dtype=float).sum(), rtol=1e-12)

    for number, chosen in enumerate(centroids):
        before = shard.labels.copy() if number else np.full(len(points), -1)
        changed = shard.update(chosen)
        exact = distances(relative, chosen)
        assert changed == np.count_nonzero(before != shard.labels)
        assert equal_up_to_ties(relative, chosen, shard.labels, exact.argmin(axis=1), epsilon)
        counts = np.bincount(shard.labels, minlength=len(chosen))
        np.testing.assert_array_equal(shard.counts, counts)
        sums = np.zeros(chosen.shape)
        np.add.at(sums, shard.labels, relative)
        np.testing.assert_allclose(shard.sums, sums, atol=1e-9 * max(len(points), 1))
        own = exact[np.arange(len(points)), shard.labels].sum()
        assert inertia_of(shard, chosen) == pytest.approx(own, rel=1e-9, abs=1e-9 * max(shard.squares, 1))
        closest = np.full(len(points), 4.0, points.dtype)
        summed = shard.nearer(chosen, closest, chosen[-1])
        nearest_yet = np.minimum(exact[:, -1], 4.0)
        np.testing.assert_allclose(closest, nearest_yet, rtol=10 * epsilon, atol=epsilon)
        nearer = np.minimum(exact, nearest_yet[:, None])
        expected = [nearer[first : first + BLOCK].sum(axis=0) for first in range(0, len(points), BLOCK)]
        np.testing.assert_allclose(summed, expected, rtol=10 * epsilon, atol=epsilon)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("features", [3, 13])
def test_a_shard_is_what_it_is_defined_to_be(kernel, dtype, features):
    for size, clusters in [(1, 1), (255, 2), (256, 3), (257, 4), (3000, 17)]:
        points = blobs(size, features, clusters, dtype)
        centroids = [(blobs(clusters, features, clusters, dtype, seed) - 50).astype(dtype) for seed in (1, 2, 3)]
        check(kernel, points, np.full(features, 50, dtype), centroids)


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(0, 600),
    features=st.sampled_from([3, 13]),
    clusters=st.integers(1, 9),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 10**6),
)
def test_the_compiled_kernel_and_the_readable_one_agree(size, features, clusters, dtype, seed):
    random = np.random.default_rng(seed)
    # Few different values, so that ties and points on top of each other are common.
    points = random.integers(-3, 4, (size, features)).astype(dtype)
    centroids = [random.integers(-3, 4, (clusters, features)).astype(dtype) for _ in range(2)]
    shards = [kernel(points, np.zeros(features)) for kernel in KERNELS]
    for chosen in centroids:
        changed = [shard.update(chosen) for shard in shards]
        # Small whole numbers are exact in either precision: ties go to the first centroid in both.
        for shard, change in zip(shards[1:], changed[1:], strict=True):
            assert change == changed[0]
            np.testing.assert_array_equal(shard.labels, shards[0].labels)
            np.testing.assert_array_equal(shard.sums, shards[0].sums)
            np.testing.assert_array_equal(shard.counts, shards[0].counts)


@settings(max_examples=40, deadline=None)
@given(
    kernel=st.sampled_from(KERNELS),
    features=st.sampled_from([3, 13]),
    clusters=st.integers(1, 40),
    pixels=st.booleans(),
    away=st.sampled_from([0, 100, 10_000]),
    seed=st.integers(0, 10**6),
)
def test_rounding_decides_no_label(kernel, features, clusters, pixels, away, seed):
    """Float32 gives each point of a few narrow, distant groups the label that float64 gives it."""
    random = np.random.default_rng(seed)
    groups = random.uniform(-away, away, (3, features))
    points = (groups[random.integers(3, size=700)] + random.normal(0, 5, (700, features))).astype("float32")
    if pixels:
        points = np.rint(points)  # exact ties are common between whole numbers
    centroids = points[random.integers(700, size=clusters)].astype(float)
    if not pixels:
        centroids += random.normal(0, 1e-3, centroids.shape)
    labels = {}
    for dtype in ("float32", "float64"):
        shard = kernel(points.astype(dtype), np.zeros(features))
        shard.update(centroids)
        labels[dtype] = shard.labels
    exact = distances(points, centroids)
    np.testing.assert_array_equal(labels["float32"], labels["float64"])
    np.testing.assert_array_equal(labels["float32"], np.argmax(exact <= exact.min(axis=1, keepdims=True), axis=1))


@pytest.mark.parametrize("kernel", KERNELS)
def test_points_may_come_in_any_memory_layout(kernel):
    points = blobs(700, 3, 3, "float64")
    centroids = points[:3].copy() - 50
    labels = []
    fixed = points.copy()
    fixed.setflags(write=False)
    for layout in (points, np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2], fixed):
        shard = kernel(layout, np.full(3, 50.0))
        shard.update(centroids)
        labels.append(shard.labels)
    for other in labels[1:]:
        np.testing.assert_array_equal(labels[0], other)


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(1, 1500),
    features=st.sampled_from([3, 13]),
    clusters=st.integers(1, 40),
    dtype=st.sampled_from(["float32", "float64"]),
    whole=st.booleans(),
    lonely=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_bounds_change_no_label_on_the_way_to_convergence(size, features, clusters, dtype, whole, lonely, seed):
    """Also with points on top of each other, clusters that become empty, and leaps of a centroid."""
    random = np.random.default_rng(seed)
    points = (random.integers(-4, 5, (size, features)) if whole else random.normal(0, 3, (size, features))).astype(
        dtype
    )
    centroids = points[random.integers(size, size=clusters)].astype(float)
    if lonely:
        centroids[-1] = 1e3
    shards = [kernel(points, np.zeros(features)) for kernel in KERNELS]
    for number in range(14):
        changed = [shard.update(centroids) for shard in shards]
        for shard, change in zip(shards[1:], changed[1:], strict=True):
            assert change == changed[0]
            np.testing.assert_array_equal(shard.labels, shards[0].labels)
            np.testing.assert_allclose(shard.sums, shards[0].sums, atol=1e-9 * size)
        counts = shards[0].counts[:, None]
        centroids = np.where(counts > 0, shards[0].sums / np.maximum(counts, 1), centroids)
        if number == 9:  # as an empty cluster does that gets a point
            centroids[0] = points[seed % size]


def test_bounds_leave_out_most_distances_and_threads_change_nothing():
    points = blobs(40_000, 13, 120, "float32")
    results = []
    for kernel, threads in ((LloydShard, 1), (NumbaShard, 1), (NumbaShard, 2), (NumbaShard, 5)):
        shard, centroids, visited = kernel(points, np.full(13, 50), threads), points[:120] - 50.0, []
        for _ in range(25):
            shard.update(centroids)
            visited.append(shard.visited / shard.size)
            centroids = shard.sums / np.maximum(shard.counts, 1)[:, None]
        results.append((centroids, shard.labels, visited, shard.squares, shard.total))
    plain, *others = results
    assert set(plain[2]) == {1.0}
    assert others[0][2][0] == 1.0 and min(others[0][2]) < 0.5
    np.testing.assert_array_equal(plain[1], others[0][1])
    np.testing.assert_allclose(plain[0], others[0][0], atol=1e-9)
    for other in others[1:]:
        for value, of_one_thread in zip(other, others[0], strict=True):
            np.testing.assert_array_equal(value, of_one_thread)
