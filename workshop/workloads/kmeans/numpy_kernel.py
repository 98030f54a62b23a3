"""The kernel to read: k-means on one rank's points, in NumPy. Knows nothing of other ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

BLOCK = 512  # points: 20 KB of ten float32 features
AT_ONCE = 8192  # points: their distances from all centroids stay in the cache
TIE = 1e-12  # squared distances that differ by less than this part of them are equal


def margin(reach: float, centroids: Floats, dtype: np.dtype) -> float:
    """How far apart the scores |c|²/2 - x·c of two equally near centroids (k, features) can be in `dtype`, for points
    with |x| up to `reach`: features + 3 roundings each, relative to |x||c| + |c|²/2 (Higham, 2002, section 3.1)."""
    longest = float(np.sqrt(np.square(centroids, dtype=np.float64).sum(axis=1).max(initial=0)))
    rounding = (centroids.shape[1] + 3) * np.finfo(dtype).eps
    return float(rounding * longest * (reach + longest / 2) + TIE * (reach + longest) ** 2)


def nearest(points: Floats, centroids: Floats) -> NDArray[np.int32]:
    """The number of the nearest centroid (k, features) of each point (n, features), as (n,); of equally near ones the
    first.

    |x - c|² = |x|² - 2 x·c + |c|², and |x|² is the same for all centroids: |c|²/2 - x·c decides. Where rounding could
    decide, distances in float64 do.
    """
    centroids = centroids.astype(np.float64)
    rounded = centroids.astype(points.dtype)
    half = (rounded**2).sum(axis=1) / 2
    close = margin(float(np.sqrt(np.square(points).sum(axis=1).max(initial=0))), centroids, points.dtype)
    labels = np.empty(len(points), np.int32)
    for first in range(0, len(points), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        scores = half - points[some] @ rounded.T
        labels[some] = np.argmin(scores, axis=1)
        limits = scores.min(axis=1, keepdims=True) + points.dtype.type(close)
        unsure = first + np.flatnonzero((scores <= limits).sum(axis=1) > 1)
        if len(unsure):
            distances = squared_distances(points[unsure], centroids)
            labels[unsure] = np.argmax(distances <= distances.min(axis=0) * (1 + TIE), axis=0)
    return labels


def squared_distances(points: Floats, centroids: Floats) -> Floats:
    """|x - c|² of every point (n, features) and centroid (k, features), as (k, n)."""
    return np.stack([np.square(points - centroid).sum(axis=1) for centroid in centroids])


def totals(points: Floats, labels: NDArray[np.int32], clusters: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum (k, features) and the count (k,) of the points of each label, in float64."""
    counts = np.bincount(labels, minlength=clusters).astype(np.float64)
    sums: NDArray[np.float64] = np.stack(
        [np.bincount(labels, weights=feature, minlength=clusters) for feature in points.T], axis=1
    )
    return sums, counts


class NumpyShard:
    """One rank's points, (n, features), and what every iteration needs of them.

    `centre` (features,) is subtracted: near the origin float32 loses least. Centroids are given relative to it.
    Attributes: `total` (features,) and `squares`, the sums of x and |x|²; after `update`: `labels` (n,),
    `sums` (k, features) and `counts` (k,) of the points of each label, and `visited`, the number of points whose
    distances were computed. Sums are float64.
    """

    def __init__(self, points: Floats, centre: Floats) -> None:
        self.size, self.features = points.shape
        self.dtype = points.dtype
        self.points = points - centre.astype(points.dtype)
        self.total = self.points.sum(axis=0, dtype=np.float64)
        self.squares = float(np.square(self.points, dtype=np.float64).sum())
        self.labels = np.full(self.size, -1, np.int32)
        self.sums, self.counts = np.zeros((0, self.features)), np.zeros(0)
        self.visited = self.size

    def update(self, centroids: Floats) -> int:
        """Give every point the label of its nearest centroid (k, features). Returns how many changed."""
        before = self.labels
        self.labels = nearest(self.points, centroids)
        self.sums, self.counts = totals(self.points, self.labels, len(centroids))
        return int(np.count_nonzero(self.labels != before))

    def nearer(self, candidates: Floats, closest: Floats, chosen: Floats) -> NDArray[np.float64]:
        """First `closest` (n,) becomes min(closest, |x - chosen|²). Returns for each candidate (m, features) the sums
        of min(closest, |x - c|²) over each block of BLOCK points, float64 (blocks, m)."""
        np.minimum(squared_distances(self.points, chosen[None].astype(self.dtype))[0], closest, out=closest)
        squares = np.minimum(squared_distances(self.points, candidates.astype(self.dtype)), closest)
        sums: NDArray[np.float64] = np.add.reduceat(squares, range(0, self.size, BLOCK), axis=1, dtype=np.float64).T
        return sums

    def rows(self, index: NDArray[np.integer]) -> Floats:
        """Points by their number in this shard, (m, features), relative to the centre."""
        return self.points[index]
