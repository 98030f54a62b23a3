"""Distributed k-means against daal4py, scikit-learn, scikit-learn-intelex and faiss: 1M x 10 float32, the same start.

For 20 iterations, and until convergence (`converged`). Ratios are a peer's seconds divided by ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Document, Row, document, machine, missing, ratio, row
from benchmarks.peers import PEERS, Prepare, contenders, measure, serve
from workshop.core.errors import WorkshopError
from workshop.engine.data import shard
from workshop.workloads.kmeans.data import Blobs

ITERATE = ("ours", *PEERS, "sklearnex", "faiss")
CONVERGE = ("ours", "sklearn", "sklearn_elkan", "sklearnex")  # which stop by the same rule
FEATURES, ITERATIONS, SEED = 10, 20, 999
CONVERGENCE = (300, 1e-4)  # iterations at most, and scikit-learn's tolerance: a share of the variance
FIRST = 20_000  # points among which the start is
AGREE = 1e-3  # of inertia, relative
Floats = NDArray[np.float32]
# (points, start (k, FEATURES), most iterations, tolerance) -> centroids, iterations
Fit = Callable[[Floats, Floats, int, float], tuple[Any, int]]


def run(repeats: int = 9, clusters: tuple[int, ...] = (10, 100), points: int = 1_000_000) -> Document:
    """Measure; returns the document. Raises WorkshopError."""
    where = machine(("numpy", "numba", "scikit-learn", "mpi4py", "openmpi"))
    by_name = contenders("benchmarks.kmeans", [*ITERATE[1:], "sklearn_elkan"])
    rows: list[Row] = []
    for kind, names in (("", ITERATE), ("converged_", CONVERGE)):
        orders = {f"{kind}k{k}": {"clusters": k, "converge": bool(kind), "points": points} for k in clusters}
        answers = measure({name: by_name[name] for name in names}, orders, repeats)
        for label, order in orders.items():
            found = {name: answers[f"{name}_{label}"] for name in names if f"{name}_{label}" in answers}
            rows += [missing(f"{name}_{label}", "s", by_name[name].note) for name in names if name not in found]
            rows += compared(label, order, found)
    return document(where, rows)


def compared(label: str, order: Mapping[str, Any], answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Row]:
    """A row for each contender, and a ratio for each peer. Raises WorkshopError where their results differ."""
    inertias = {name: inertia(order, found[-1]["centroids"]) for name, found in answers.items()}
    seconds = {name: [answer["seconds"] for answer in found] for name, found in answers.items()}
    for name, value in inertias.items():
        if abs(value / inertias["ours"] - 1) > AGREE:
            both = f"{inertias['ours']:.6g} for ours and {value:.6g} for {name}, so their times can't be compared."
            raise WorkshopError(f"The contenders don't agree for k = {order['clusters']}: inertia is {both}")
    rows = [
        row(f"{name}_{label}", seconds[name], "s", inertia=inertias[name], iterations=found[-1]["iterations"])
        for name, found in answers.items()
    ]
    peers = [name for name in answers if name != "ours"]
    return rows + [ratio(f"{name}_{label}", seconds[name], seconds["ours"]) for name in peers]


def inertia(order: Mapping[str, Any], centroids: Any) -> float:
    """The sum of squared distances of an order's points to the nearest centroid, in float64: alike for all."""
    from sklearn.metrics import pairwise_distances_argmin_min

    data = blobs(order["points"], order["clusters"], 0, order["points"])
    return float(np.square(pairwise_distances_argmin_min(data, np.array(centroids))[1]).sum())


@cache
def blobs(size: int, clusters: int, first: int, end: int) -> Floats:
    """Points `first` to `end` of as many blobs as there will be clusters, (n, FEATURES)."""
    return Blobs(size, FEATURES, clusters, SEED, np.float32).read(first, end)


def begin(contender: str, comm: Any) -> Prepare:
    """A contender's way to fit the points of an order `{points, clusters, converge}`: a rank of it runs this."""
    own = contender.partition("_")[0]  # sklearn_elkan is sklearn's
    fit = {"ours": ours, "daal4py": daal4py, "faiss": faiss}.get(own, sklearn)(contender, comm)

    def prepare(order: Mapping[str, Any], size: int, rank: int) -> Callable[[], dict[str, Any]]:
        points = blobs(order["points"], order["clusters"], *shard(order["points"], size, rank))
        chosen = np.random.default_rng(SEED).choice(FIRST, order["clusters"], replace=False)  # the same for all
        first = blobs(order["points"], order["clusters"], 0, FIRST)[chosen].copy()
        most, tolerance = CONVERGENCE if order["converge"] else (ITERATIONS, 0.0)

        def compute() -> dict[str, Any]:
            centroids, iterations = fit(points, first, most, tolerance)
            return {"iterations": int(iterations), "centroids": np.asarray(centroids, float).tolist()}

        return compute

    return prepare


def ours(_: str, comm: Any) -> Fit:
    """All counts: the change of data layout, the iterations, and the last assignment that inertia needs."""
    from workshop.engine.context import RankContext
    from workshop.workloads.kmeans.lloyd import fit, kernel

    return lambda *fitted: fit(RankContext(comm), kernel("numba"), *fitted)[:3:2]


def daal4py(_: str, comm: Any) -> Fit:
    """One call for all iterations, without the last assignment. It isn't known to stop by scikit-learn's rule."""
    import daal4py as package

    package.daalinit(1 if comm else 2)

    def run(points: Floats, first: Floats, most: int, tolerance: float) -> tuple[Any, int]:
        options = {"fptype": "float", "accuracyThreshold": tolerance, "assignFlag": False, "distributed": bool(comm)}
        result = package.kmeans(len(first), most, **options).compute(points, first)
        return result.centroids, int(np.ravel(result.nIterations)[0])

    return run


def sklearn(contender: str, _: Any) -> Fit:
    """On as many threads as OMP_NUM_THREADS says; `sklearnex` is the same program patched by scikit-learn-intelex."""
    if patched := contender == "sklearnex":
        from sklearnex import patch_sklearn

        patch_sklearn()
    from sklearn.cluster import KMeans

    options = {"algorithm": "elkan" if contender == "sklearn_elkan" else "lloyd"} | ({"n_jobs": 2} if patched else {})

    def run(points: Floats, first: Floats, most: int, tolerance: float) -> tuple[Any, int]:
        model = KMeans(len(first), init=first, n_init=1, max_iter=most, tol=tolerance, **options).fit(points)
        if patched and not hasattr(model, "_onedal_estimator"):
            raise SystemExit("scikit-learn-intelex left this fit to scikit-learn, so it can't be compared.")
        return model.cluster_centers_, model.n_iter_

    return run


def faiss(*_: Any) -> Fit:
    """On as many threads as OMP_NUM_THREADS says, with all points: by default it would take a sample."""
    from faiss import Kmeans

    def run(points: Floats, first: Floats, most: int, _: float) -> tuple[Any, int]:
        model = Kmeans(FEATURES, len(first), niter=most, nredo=1, max_points_per_centroid=len(points))
        model.train(points, init_centroids=first)
        return model.centroids, len(model.obj)

    return run


if __name__ == "__main__":
    serve(begin)
