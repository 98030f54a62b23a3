"""The fast kernel: labels and sums in one pass over the points, compiled by Numba for one core.

Points are kept in blocks, features first (`blocks[block, feature, point]`), so that one vector register holds one
feature of many points and the nearest centroids of all these points are found at once, without horizontal operations.
A block stays in the first-level cache while every centroid passes over it. What else makes it fast:

- |x - c|² is smallest where |c|²/2 - x·c is smallest: one multiply-add per feature and no subtraction.
- The number of features is a constant of the compiled code, so a group of centroids lies in registers for a block.
- Sums are kept from one iteration to the next and corrected by the points that changed their label, which are few
  after the first iterations. They are float64, so nothing is lost that way.
- Rounding can't change a label: a point whose two nearest centroids are as close as rounding is looked at again in
  float64 (`numpy_kernel.margin`). Few points are.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from workshop.workloads.kmeans.numpy_kernel import TIE, margin

BLOCK = 512  # points: 20 KB of ten float32 features
GROUP = 2  # centroids that share each load of a point; twice ten features stay in AVX-512's 32 registers
NARROW = 12  # features up to which the compiler unrolls all of them
CHUNK = 8  # features at a time beyond that

# Multiply-adds may be fused. Sums stay in order, which is faster here, and infinities keep their meaning.
FAST = {"contract", "nsz"}


class NumbaShard:
    """One rank's points, blocked features-first for the compiled kernel; arguments and attributes are NumpyShard's."""

    def __init__(self, points: NDArray[np.floating], centre: NDArray[np.floating]) -> None:
        self.size, self.features = points.shape
        self.dtype = points.dtype
        rows = self.features if self.features <= NARROW else -(-self.features // CHUNK) * CHUNK
        self.blocks = np.empty((-(-self.size // BLOCK), rows, BLOCK), points.dtype)
        self.total = np.zeros(self.features)
        # One layout and one kind of array: every other one would be compiled again.
        points = np.require(points, requirements=["C_CONTIGUOUS", "WRITEABLE"])
        extent = np.zeros(self.features)
        self.squares: float = _fill(points, centre.astype(points.dtype), self.blocks, self.total, extent)
        self.reach = float(np.sqrt(np.square(extent).sum()))
        self._labels = np.full(len(self.blocks) * BLOCK, -1, np.int32)
        self.sums = np.zeros((0, self.features))
        self.counts = np.zeros(0)

    @property
    def labels(self) -> NDArray[np.int32]:
        return self._labels[: self.size]

    def update(self, centroids: NDArray[np.floating]) -> int:
        """Give every point the label of its nearest centroid (k, features). Returns how many changed."""
        clusters = len(centroids)
        if len(self.counts) != clusters:
            self.sums, self.counts = np.zeros((clusters, self.features)), np.zeros(clusters)
            self._labels[:] = -1
        exact = np.zeros((clusters, self.blocks.shape[1]))
        exact[:, : self.features] = centroids
        padded = np.zeros((-(-clusters // GROUP) * GROUP, self.blocks.shape[1]), self.blocks.dtype)
        padded[:clusters] = exact
        half = np.full(len(padded), np.inf, padded.dtype)
        half[:clusters] = (padded[:clusters] ** 2).sum(axis=1) / 2
        narrow = (0,) * self.features if self.features <= NARROW else ()
        close = margin(self.reach, exact, self.dtype)
        labels, sums, counts = self._labels, self.sums, self.counts
        return _update(self.blocks, self.size, padded, half, exact, close, labels, sums, counts, narrow)

    def distances(self, centroids: NDArray[np.floating]) -> NDArray[np.floating]:
        """The squared distances of every point from each centroid (k, features), as (k, n)."""
        squared = np.empty((len(centroids), len(self.blocks) * BLOCK), self.blocks.dtype)
        _distances(self.blocks, np.ascontiguousarray(centroids, self.blocks.dtype), squared)
        return squared[:, : self.size]

    def rows(self, index: NDArray[np.integer]) -> NDArray[np.floating]:
        """Points by their number in this shard, (m, features), relative to the centre."""
        return self.blocks[index // BLOCK, : self.features, index % BLOCK]


@njit(nogil=True, cache=True, error_model="numpy")
def _fill(points, centre, blocks, total, extent):
    """Write points (n, features) minus the centre into blocks; returns the sum of |x|², adds up x in `total`, and keeps
    the largest |x| of each feature in `extent`. Points that only fill the last block, and features that only fill a
    chunk, are zero."""
    size, features = points.shape
    squares = 0.0
    for b in range(blocks.shape[0]):
        first = b * BLOCK
        valid = min(BLOCK, size - first)
        block = blocks[b]
        if valid < BLOCK or features < blocks.shape[1]:
            block[:] = 0
        for f in range(features):
            for p in range(valid):
                block[f, p] = points[first + p, f] - centre[f]
        for f in range(features):
            _add_up(block[f], total[f : f + 1])
            squares += _square(block[f])
            extent[f] = max(extent[f], _largest(block[f]))
    return squares


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _add_up(values, total):
    summed = 0.0
    for p in range(BLOCK):
        summed += np.float64(values[p])
    total[0] += summed


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _square(values):
    summed = 0.0
    for p in range(BLOCK):
        summed += np.float64(values[p]) * np.float64(values[p])
    return summed


@njit(nogil=True, cache=True, fastmath={"nsz"}, error_model="numpy")
def _largest(values):
    largest = np.abs(values[0])
    for p in range(BLOCK):
        size = np.abs(values[p])
        largest = size if size > largest else largest
    return largest


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _distances(blocks, centroids, distances):
    """(x - c)² added up, for every centroid (k, features) and point: `found` (k, points)."""
    for b in range(blocks.shape[0]):
        block = blocks[b]
        for j in range(centroids.shape[0]):
            row = distances[j, b * BLOCK : (b + 1) * BLOCK]
            for p in range(BLOCK):
                row[p] = 0
            for f in range(centroids.shape[1]):
                c = centroids[j, f]
                for p in range(BLOCK):
                    row[p] += (block[f, p] - c) ** 2


@njit(nogil=True, cache=True, error_model="numpy")
def _update(blocks, size, centroids, half, exact, close, labels, sums, counts, narrow):
    """Label all points, correct sums and counts by the changed labels, and return the number of changes. The float64
    centroids `exact` (k, features) decide where the two best scores of a point differ by at most `close`."""
    best = np.empty(BLOCK, blocks.dtype)
    second = np.empty(BLOCK, blocks.dtype)
    label = np.empty(BLOCK, np.int32)
    total = 0
    for b in range(blocks.shape[0]):
        block = blocks[b]
        old = labels[b * BLOCK : (b + 1) * BLOCK]
        if len(narrow) > 0:
            _nearest_narrow(block, centroids, half, best, second, label, narrow)
        else:
            _nearest_wide(block, centroids, half, best, second, label)
        unsure = 0
        for p in range(BLOCK):
            unsure += second[p] - best[p] <= close
        if unsure > 0:
            for p in range(BLOCK):
                if second[p] - best[p] <= close:
                    label[p] = _nearest_exactly(block, p, exact)
        changed = 0
        for p in range(BLOCK):
            changed += label[p] != old[p]
        if changed == 0:
            continue
        for p in range(min(BLOCK, size - b * BLOCK)):
            before, now = old[p], label[p]
            if before == now:
                continue
            total += 1
            old[p] = now
            counts[now] += 1
            for f in range(sums.shape[1]):
                sums[now, f] += block[f, p]
            if before >= 0:
                counts[before] -= 1
                for f in range(sums.shape[1]):
                    sums[before, f] -= block[f, p]
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _nearest_narrow(points, centroids, half, best, second, label, narrow):
    """`label` (BLOCK,) becomes the nearest centroid of each point of a block; `best` and `second` (BLOCK,) become its
    two lowest scores |c|²/2 - x·c.

    `points` (features, BLOCK); `centroids` (k, features) and `half` (k,), |c|²/2, where k is a multiple of GROUP,
    filled up by centroids with an infinite `half`. `narrow` is a tuple with as many items as there are features: its
    length is part of its type, so the compiler unrolls the loop over features.
    """
    for p in range(BLOCK):
        best[p] = second[p] = np.inf
        label[p] = 0
    for j in range(0, half.shape[0], GROUP):
        half0, half1 = half[j], half[j + 1]
        j0, j1 = np.int32(j), np.int32(j + 1)
        for p in range(BLOCK):
            score0, score1 = half0, half1
            for f in range(len(narrow)):
                x = points[f, p]
                score0 -= centroids[j, f] * x
                score1 -= centroids[j + 1, f] * x
            least, nearest, runner_up = best[p], label[p], second[p]
            nearer = score0 < least
            farther = least if nearer else score0
            least, nearest = score0 if nearer else least, j0 if nearer else nearest
            runner_up = farther if farther < runner_up else runner_up
            nearer = score1 < least
            farther = least if nearer else score1
            best[p], label[p] = score1 if nearer else least, j1 if nearer else nearest
            second[p] = farther if farther < runner_up else runner_up


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _nearest_wide(points, centroids, half, best, second, label):
    """The same for any number of features, CHUNK at a time (more are zero); partial scores go through the cache."""
    score = np.empty((GROUP, BLOCK), points.dtype)
    for p in range(BLOCK):
        best[p] = second[p] = np.inf
        label[p] = 0
    for j in range(0, half.shape[0], GROUP):
        half0, half1 = half[j], half[j + 1]
        j0, j1 = np.int32(j), np.int32(j + 1)
        for p in range(BLOCK):
            score[0, p], score[1, p] = half0, half1
        for first in range(0, points.shape[0], CHUNK):
            for p in range(BLOCK):
                score0, score1 = score[0, p], score[1, p]
                for f in range(first, first + CHUNK):
                    x = points[f, p]
                    score0 -= centroids[j, f] * x
                    score1 -= centroids[j + 1, f] * x
                score[0, p], score[1, p] = score0, score1
        for p in range(BLOCK):
            score0, score1 = score[0, p], score[1, p]
            least, nearest, runner_up = best[p], label[p], second[p]
            nearer = score0 < least
            farther = least if nearer else score0
            least, nearest = score0 if nearer else least, j0 if nearer else nearest
            runner_up = farther if farther < runner_up else runner_up
            nearer = score1 < least
            farther = least if nearer else score1
            best[p], label[p] = score1 if nearer else least, j1 if nearer else nearest
            second[p] = farther if farther < runner_up else runner_up


@njit(nogil=True, cache=True, error_model="numpy")
def _nearest_exactly(points, p, centroids):
    """The nearest of the float64 centroids (k, features) to point `p` of a block; of equally near ones the first."""
    nearest, least = 0, np.inf
    for j in range(centroids.shape[0]):
        distance = 0.0
        for f in range(centroids.shape[1]):
            distance += (np.float64(points[f, p]) - centroids[j, f]) ** 2
        if distance < least * (1 - TIE):
            nearest, least = j, distance
    return nearest
