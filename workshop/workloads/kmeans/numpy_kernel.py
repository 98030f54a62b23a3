"""The kernel to read: k-means on one rank's points, in NumPy. Knows nothing of other ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 8192  # points: their distances from all centroids stay in the cache


def nearest(points: NDArray[np.floating], centroids: NDArray[np.floating]) -> NDArray[np.int32]:
    """The number of the nearest centroid (k, features) of each point (n, features), as (n,).

    |x - c|² = |x|² - 2 x·c + |c|², and |x|² is the same for all centroids: |c|²/2 - x·c decides.
    """
    half = (centroids**2).sum(axis=1) / 2
    labels = np.empty(len(points), np.int32)
    for first in range(0, len(points), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        labels[some] = np.argmin(half - points[some] @ centroids.T, axis=1)
    return labels


def totals(
    points: NDArray[np.floating], labels: NDArray[np.int32], clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum (k, features) and the count (k,) of the points of each label, in float64."""
    counts = np.bincount(labels, minlength=clusters).astype(np.float64)
    sums = np.stack([np.bincount(labels, weights=feature, minlength=clusters) for feature in points.T], axis=1)
    return sums, counts


class NumpyShard:
    """One rank's points, (n, features), and what every iteration needs of them.

    `centre` (features,) is subtracted: near the origin float32 loses least. Centroids are given relative to it.
    Attributes: `total` (features,) and `squares`, the sums of x and |x|²; after `update`: `labels` (n,),
    `sums` (k, features) and `counts` (k,) of the points of each label. Sums are float64.
    """

    def __init__(self, points: NDArray[np.floating], centre: NDArray[np.floating]) -> None:
        self.size, self.features = points.shape
        self.dtype = points.dtype
        self.points = points - centre.astype(points.dtype)
        self.total = self.points.sum(axis=0, dtype=np.float64)
        self.squares = float(np.square(self.points, dtype=np.float64).sum())
        self.labels = np.full(self.size, -1, np.int32)
        self.sums, self.counts = np.zeros((0, self.features)), np.zeros(0)

    def update(self, centroids: NDArray[np.floating]) -> int:
        """Give every point the label of its nearest centroid (k, features). Returns how many changed."""
        before = self.labels
        self.labels = nearest(self.points, centroids.astype(self.points.dtype))
        self.sums, self.counts = totals(self.points, self.labels, len(centroids))
        return int(np.count_nonzero(self.labels != before))

    def distances(self, centroids: NDArray[np.floating]) -> NDArray[np.floating]:
        """The squared distances of every point from each centroid (k, features), as (k, n)."""
        centroids = centroids.astype(self.dtype)
        squares = (centroids**2).sum(axis=1)[:, None] - 2 * centroids @ self.points.T + (self.points**2).sum(axis=1)
        return np.maximum(squares, 0)  # rounding can leave less than nothing where they meet

    def rows(self, index: NDArray[np.integer]) -> NDArray[np.floating]:
        """Points by their number in this shard, (m, features), relative to the centre."""
        return self.points[index]
