"""What k-means is compared with: scikit-learn from the same start, and plain definitions in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def blobs(size: int, features: int, clusters: int, dtype: str, seed: int = 0) -> NDArray[np.floating]:
    """Overlapping blobs away from the origin, where float32 is hard; (size, features)."""
    random = np.random.default_rng(seed)
    centres = random.uniform(-4, 4, (clusters, features)) + 50
    return (centres[random.integers(clusters, size=size)] + random.normal(size=(size, features))).astype(dtype)


def sklearn_fit(points: NDArray[np.floating], start: NDArray[np.floating], iterations: int, tolerance: float) -> Any:
    """A fitted `sklearn.cluster.KMeans`; imported here, because ranks need only the rest."""
    from sklearn.cluster import KMeans

    model = KMeans(len(start), init=start, n_init=1, max_iter=iterations, tol=tolerance, algorithm="lloyd")
    return model.fit(points)


def exact_inertia(points: NDArray[np.floating], centroids: NDArray[np.floating]) -> float:
    return float(distances(points, centroids).min(axis=1).sum())


def distances(points: NDArray[np.floating], centroids: NDArray[np.floating]) -> NDArray[np.float64]:
    """Squared, by their definition, in float64: (n, k)."""
    return np.square(points[:, None, :].astype(float) - centroids[None].astype(float)).sum(axis=2)


def equal_up_to_ties(
    points: NDArray[np.floating],
    centroids: NDArray[np.floating],
    labels: NDArray[np.integer],
    others: NDArray[np.integer],
    tolerance: float,
) -> bool:
    """Whether two labellings are the same, save for points that lie equally far (to a relative tolerance of the
    farthest distance) from both their labels' centroids."""
    differ = np.flatnonzero(labels != others)
    found = distances(points[differ], centroids)
    apart = found[np.arange(len(differ)), labels[differ]] - found[np.arange(len(differ)), others[differ]]
    return bool(np.all(np.abs(apart) <= tolerance * found.max(initial=1.0)))
