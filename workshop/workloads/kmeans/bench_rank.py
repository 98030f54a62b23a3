"""One rank of a contender of the k-means bench: `python -m workshop.workloads.kmeans.bench_rank CONTENDER FOLDER`.

Makes its points, then fits at every order: from the row-major points and the start to the centroids.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.bench.crew import answer, orders
from workshop.engine.data.shards import shard
from workshop.workloads.kmeans.data import Blobs

POINTS, FEATURES, ITERATIONS = 1_000_000, 10, 20
SEED = 999

# (points, start (k, features)) -> centroids, iterations
Fit = Callable[[NDArray[np.float32], NDArray[np.float32]], tuple[NDArray[np.floating], int]]


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

    def run(own_points: NDArray[np.float32], begin: NDArray[np.float32]) -> tuple[NDArray[np.floating], int]:
        centroids, _, iterations, _ = fit(ctx, kernel("numba"), own_points, begin, ITERATIONS, 0.0)
        return centroids, iterations

    return run


def daal4py(threads: int, distributed: bool) -> Fit:
    """daal4py, called once for all iterations and without the last assignment."""
    import daal4py as d4p

    d4p.daalinit(threads)

    def run(own_points: NDArray[np.float32], begin: NDArray[np.float32]) -> tuple[NDArray[np.floating], int]:
        algorithm = d4p.kmeans(
            len(begin), ITERATIONS, fptype="float", accuracyThreshold=0, assignFlag=False, distributed=distributed
        )
        result = algorithm.compute(own_points, begin)
        return result.centroids, int(np.ravel(result.nIterations)[0])

    return run


def sklearn() -> Fit:
    """scikit-learn on as many threads as OMP_NUM_THREADS says."""
    from sklearn.cluster import KMeans

    def run(own_points: NDArray[np.float32], begin: NDArray[np.float32]) -> tuple[NDArray[np.floating], int]:
        model = KMeans(len(begin), init=begin, n_init=1, max_iter=ITERATIONS, tol=0, algorithm="lloyd").fit(own_points)
        return model.cluster_centers_, model.n_iter_

    return run


def main() -> None:
    """Fit for every order `{"clusters": k}` and answer with the seconds from when all ranks began to when all ended."""
    contender, folder = sys.argv[1:]
    if contender in ("ours", "daal4py_distributed"):
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        size, rank = comm.size, comm.rank
        if size != 2:
            raise SystemExit(f"{contender} needs a world of 2 ranks, this one has {size}")
        barrier = comm.Barrier
        fit = ours(comm) if contender == "ours" else daal4py(1, distributed=True)
    else:
        size, rank = 1, 0

        def barrier() -> None:
            pass

        fit = daal4py(2, distributed=False) if contender == "daal4py_threads" else sklearn()

    for order in orders(folder, rank):
        own_points, begin = points(order["clusters"], size, rank), start(order["clusters"])
        barrier()
        began = time.perf_counter()
        centroids, iterations = fit(own_points, begin.copy())
        barrier()
        seconds = time.perf_counter() - began
        if rank == 0:
            answer({"seconds": seconds, "iterations": iterations, "centroids": np.asarray(centroids, float).tolist()})


if __name__ == "__main__":
    main()
