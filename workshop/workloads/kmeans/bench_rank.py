"""One rank of a contender of the k-means bench: `python -m workshop.workloads.kmeans.bench_rank CONTENDER FOLDER`.

Makes its points, then fits at every order: from the row-major points and the start to the centroids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.bench.peers import Prepare, serve
from workshop.engine.data.shards import shard
from workshop.workloads.kmeans.data import Blobs
from workshop.workloads.kmeans.numpy_kernel import Floats

POINTS, FEATURES, ITERATIONS = 1_000_000, 10, 20
# At most so many iterations, and the tolerance: a share of the variance, as scikit-learn has it by default.
CONVERGENCE = (300, 1e-4)
SEED = 999

# (points, start (k, features), most iterations, tolerance) -> centroids, iterations
Fit = Callable[[Floats, Floats, int, float], tuple[Floats, int]]


@cache
def points(clusters: int, ranks: int, rank: int) -> NDArray[np.float32]:
    """A rank's part of as many blobs as there will be clusters, (n, FEATURES)."""
    return Blobs(POINTS, FEATURES, clusters, SEED, np.float32).read(*shard(POINTS, ranks, rank))


@cache
def start(clusters: int) -> NDArray[np.float32]:
    """The same start for every contender: some of the first 100,000 points, (clusters, FEATURES)."""
    return Blobs(POINTS, FEATURES, clusters, SEED, np.float32).read(0, 100_000)[start_numbers(clusters)]


def start_numbers(clusters: int) -> NDArray[np.int64]:
    """Which points the start is, (clusters,)."""
    return np.random.default_rng(SEED).choice(100_000, clusters, replace=False)


def place(points: NDArray[np.float32], numbers: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.float32]:
    """The same points (n, features) in another order: those with these numbers (k,) are at these places (k,)."""
    placed = np.empty_like(points)
    placed[places] = points[numbers]
    placed[np.delete(np.arange(len(points)), places)] = np.delete(points, numbers, axis=0)
    return placed


def ours(comm: Any) -> Fit:
    """Everything counts: the change of data layout, all iterations, and the last assignment that inertia needs."""
    from workshop.engine.context import RankContext
    from workshop.workloads.kmeans.lloyd import fit
    from workshop.workloads.kmeans.shards import kernel

    ctx = RankContext(comm)

    def run(own_points: Floats, first: Floats, most: int, tolerance: float) -> tuple[Floats, int]:
        centroids, _, iterations, _ = fit(ctx, kernel("numba"), own_points, first, most, tolerance)
        return centroids, iterations

    return run


def daal4py(threads: int, distributed: bool) -> Fit:
    """daal4py, called once for all iterations and without the last assignment. Not for convergence: it isn't known to
    stop by the same rule."""
    import daal4py as d4p

    d4p.daalinit(threads)

    def run(own_points: Floats, first: Floats, most: int, tolerance: float) -> tuple[Floats, int]:
        algorithm = d4p.kmeans(
            len(first), most, fptype="float", accuracyThreshold=tolerance, assignFlag=False, distributed=distributed
        )
        result = algorithm.compute(own_points, first)
        return result.centroids, int(np.ravel(result.nIterations)[0])

    return run


def sklearn(algorithm: str = "lloyd", threads: int | None = None) -> Fit:
    """scikit-learn on as many threads as OMP_NUM_THREADS says; with `threads`, scikit-learn-intelex in its place."""
    if threads:
        from sklearnex.cluster import KMeans

        KMeans = partial(KMeans, n_jobs=threads)
    else:
        from sklearn.cluster import KMeans

    def run(own_points: Floats, first: Floats, most: int, tolerance: float) -> tuple[Floats, int]:
        model = KMeans(len(first), init=first, n_init=1, max_iter=most, tol=tolerance, algorithm=algorithm)
        model.fit(own_points)
        if threads and not hasattr(model, "_onedal_estimator"):
            raise SystemExit("scikit-learn-intelex left this fit to scikit-learn, so it can't be compared.")
        return model.cluster_centers_, model.n_iter_

    return run


def faiss() -> Fit:
    """faiss on as many threads as OMP_NUM_THREADS says, with all points: by default it would take a sample."""
    from faiss import Kmeans

    def run(own_points: Floats, first: Floats, most: int, tolerance: float) -> tuple[Floats, int]:
        model = Kmeans(FEATURES, len(first), niter=most, nredo=1, max_points_per_centroid=len(own_points))
        model.train(own_points, init_centroids=first)
        return model.centroids, len(model.obj)

    return run


def fastkmeans() -> Fit:
    """fastkmeans on as many threads as OMP_NUM_THREADS says. Its start is the points at the `random_places` of SEED."""
    from fastkmeans import FastKMeans

    def run(own_points: Floats, first: Floats, most: int, tolerance: float) -> tuple[Floats, int]:
        model = FastKMeans(FEATURES, len(first), niter=most, tol=-1, gpu=False, seed=SEED)
        model.train(own_points)
        return model.centroids, model.niter  # no move is below a negative tolerance, so it makes all iterations

    return run


def random_places(size: int, clusters: int) -> NDArray[np.int64]:
    """The places (clusters,) of the points that fastkmeans starts from, as its source says; no other start can be
    chosen."""
    import torch

    return torch.randperm(size, generator=torch.Generator().manual_seed(SEED))[:clusters].numpy()


def begin(contender: str, comm: Any) -> Prepare:
    """A contender's way to fit the points of every order `{"clusters": k, "converge": whether to go on until then}`."""
    makers: dict[str, Callable[[], Fit]] = {
        "ours": partial(ours, comm),
        "daal4py_distributed": partial(daal4py, 1, distributed=True),
        "daal4py_threads": partial(daal4py, 2, distributed=False),
        "sklearn": sklearn,
        "sklearn_elkan": partial(sklearn, "elkan"),
        "sklearnex": partial(sklearn, threads=2),
        "faiss": faiss,
        "fastkmeans": fastkmeans,
    }
    fit = makers[contender]()

    def prepare(order: Mapping[str, Any], size: int, rank: int) -> Callable[[], dict[str, Any]]:
        clusters = order["clusters"]
        own_points, first = points(clusters, size, rank), start(clusters).copy()
        most, tolerance = CONVERGENCE if order.get("converge") else (ITERATIONS, 0.0)
        if contender == "fastkmeans":
            own_points = place(own_points, start_numbers(clusters), random_places(len(own_points), clusters))

        def compute() -> dict[str, Any]:
            centroids, iterations = fit(own_points, first, most, tolerance)
            return {"iterations": iterations, "centroids": np.asarray(centroids, float).tolist()}

        return compute

    return prepare


if __name__ == "__main__":
    serve(begin)
