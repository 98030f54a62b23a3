"""One rank of a contender of the k-means bench: `python -m workshop.workloads.kmeans.bench_rank CONTENDER FOLDER`.

Makes its points, then fits at every order: from the row-major points and the start to the centroids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.bench.peers import Prepare, serve
from workshop.engine.data.shards import shard
from workshop.workloads.kmeans.data import Blobs

POINTS, FEATURES, ITERATIONS = 1_000_000, 10, 20
# At most so many iterations, and the tolerance: a share of the variance, as scikit-learn has it by default.
CONVERGENCE = (300, 1e-4)
SEED = 999

# (points, start (k, features), most iterations, tolerance) -> centroids, iterations
Fit = Callable[[NDArray[np.float32], NDArray[np.float32], int, float], tuple[NDArray[np.floating], int]]


@cache
def points(clusters: int, ranks: int, rank: int) -> NDArray[np.float32]:
    """A rank's part of as many blobs as there will be clusters, (n, FEATURES)."""
    return Blobs(POINTS, FEATURES, clusters, SEED, np.float32).read(*shard(POINTS, ranks, rank))


@cache
def start(clusters: int) -> NDArray[np.float32]:
    """The same start for every contender: some of the first 100,000 points, (clusters, FEATURES)."""
    first = Blobs(POINTS, FEATURES, clusters, SEED, np.float32).read(0, 100_000)
    return first[np.random.default_rng(SEED).choice(len(first), clusters, replace=False)]


def ours(comm: Any) -> Fit:
    """Everything counts: the change of data layout, all iterations, and the last assignment that inertia needs."""
    from workshop.engine.context import RankContext
    from workshop.workloads.kmeans.lloyd import fit
    from workshop.workloads.kmeans.shards import kernel

    ctx = RankContext(comm)

    def run(
        own_points: NDArray[np.float32], first: NDArray[np.float32], most: int, tolerance: float
    ) -> tuple[NDArray[np.floating], int]:
        centroids, _, iterations, _ = fit(ctx, kernel("numba"), own_points, first, most, tolerance)
        return centroids, iterations

    return run


def daal4py(threads: int, distributed: bool) -> Fit:
    """daal4py, called once for all iterations and without the last assignment. Not for convergence: it isn't known to
    stop by the same rule."""
    import daal4py as d4p

    d4p.daalinit(threads)

    def run(
        own_points: NDArray[np.float32], first: NDArray[np.float32], most: int, tolerance: float
    ) -> tuple[NDArray[np.floating], int]:
        algorithm = d4p.kmeans(
            len(first), most, fptype="float", accuracyThreshold=tolerance, assignFlag=False, distributed=distributed
        )
        result = algorithm.compute(own_points, first)
        return result.centroids, int(np.ravel(result.nIterations)[0])

    return run


def sklearn() -> Fit:
    """scikit-learn on as many threads as OMP_NUM_THREADS says."""
    from sklearn.cluster import KMeans

    def run(
        own_points: NDArray[np.float32], first: NDArray[np.float32], most: int, tolerance: float
    ) -> tuple[NDArray[np.floating], int]:
        model = KMeans(len(first), init=first, n_init=1, max_iter=most, tol=tolerance, algorithm="lloyd").fit(
            own_points
        )
        return model.cluster_centers_, model.n_iter_

    return run


def begin(contender: str, comm: Any) -> Prepare:
    """A contender's way to fit the points of every order `{"clusters": k, "converge": whether to go on until then}`."""
    if contender == "ours":
        fit = ours(comm)
    elif contender == "sklearn":
        fit = sklearn()
    else:
        fit = daal4py(1, distributed=True) if comm else daal4py(2, distributed=False)

    def prepare(order: Mapping[str, Any], size: int, rank: int) -> Callable[[], dict[str, Any]]:
        own_points, first = points(order["clusters"], size, rank), start(order["clusters"]).copy()
        most, tolerance = CONVERGENCE if order.get("converge") else (ITERATIONS, 0.0)

        def compute() -> dict[str, Any]:
            centroids, iterations = fit(own_points, first, most, tolerance)
            return {"iterations": iterations, "centroids": np.asarray(centroids, float).tolist()}

        return compute

    return prepare


if __name__ == "__main__":
    serve(begin)
