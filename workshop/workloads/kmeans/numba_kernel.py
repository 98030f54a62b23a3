"""The fast kernel: labels and sums in one pass over the points, compiled by Numba; threads share the blocks.

Points are kept in blocks, features first (`blocks[block, feature, point]`), so that one vector register holds one
feature of many points and the nearest centroids of all these points are found at once, without horizontal operations.
A block stays in the first-level cache while every centroid passes over it. What else makes it fast:

- |x - c|² is smallest where |c|²/2 - x·c is smallest: one multiply-add per feature and no subtraction.
- The number of features is a constant of the compiled code, so a group of centroids lies in registers for a block.
- Sums are kept from one iteration to the next and corrected by the points that changed their label, which are few
  after the first iterations. They are float64, so nothing is lost that way.
- Bounds tell which points keep their label: a point has at most the distance `upper` from its own centroid and at least
  `lower` from all others (Hamerly, Making k-means even faster, 2010). Moves of centroids widen the bounds; where they
  cross, the point goes into a buffer as large as a block, and all its distances are computed. Far centroids can move
  without effect on `lower` (Rysavy and Hamerly, Geometric methods to accelerate k-means algorithms, 2016).
- Rounding can't change a label: a point whose two nearest centroids are as close as rounding is looked at again in
  float64 (`numpy_kernel.margin`). Few points are. Bounds are wider by as much as rounding can be.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray

from workshop.workloads.kmeans.numpy_kernel import BLOCK, TIE, Floats, margin

GROUP = 2  # centroids that share each load of a point; twice ten features stay in AVX-512's 32 registers
NARROW = 12  # features up to which the compiler unrolls all of them
CHUNK = 8  # features at a time beyond that
PARTS = 16  # of a shard, each with its own sums: as many threads can share the work
SETTLED = 0.12  # share of points that change their label, below which bounds are worth computing
NEAR = 8  # centroids around each that are treated as its neighbours
DENSE = BLOCK // 2  # points of a block that need distances, above which the whole block gets them
T = TypeVar("T")

# Multiply-adds may be fused. Sums stay in order, which is faster here, and infinities keep their meaning.
FAST = {"contract", "nsz"}


class NumbaShard:
    """One rank's points, blocked features-first for the compiled kernel; arguments and attributes are NumpyShard's.

    `threads` compute at once, by default as many as Numba may use on this rank. Each takes some of the same parts of
    the shard, and sums are added in the order of parts, so the result doesn't depend on the number of threads.
    """

    worth = 256.0  # clusters x features from which moving bounds is faster than computing all distances

    def __init__(self, points: Floats, centre: Floats, threads: int | None = None) -> None:
        self.size, self.features = points.shape
        self.dtype = points.dtype
        rows = self.features if self.features <= NARROW else -(-self.features // CHUNK) * CHUNK
        self.blocks = np.empty((-(-self.size // BLOCK), rows, BLOCK), points.dtype)
        usual: int = vars(numba.config)["NUMBA_NUM_THREADS"]  # Numba sets it when it reads the variables
        self._threads = min(threads or usual, PARTS, max(len(self.blocks), 1))
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None
        # One layout and one kind of array: every other one would be compiled again.
        points = np.require(points, requirements=["C_CONTIGUOUS", "WRITEABLE"])
        middle = centre.astype(points.dtype)
        self._narrow = (0,) * self.features if self.features <= NARROW else ()
        self._parts = _parts(len(self.blocks), PARTS)
        totals, extents = np.zeros((2, len(self._parts), self.features))

        def fill(number: int, part: slice, place: slice) -> float:
            squares: float = _fill(points[place], middle, self.blocks[part], totals[number], extents[number])
            return squares

        self.squares: float = sum(self._each(fill, self._parts))
        self.total: NDArray[np.float64] = totals.sum(axis=0)
        self.reach = float(np.sqrt(np.square(extents.max(axis=0)).sum()))
        self._labels = np.full(len(self.blocks) * BLOCK, -1, np.int32)
        self._labels[self.size :] = 0  # of what only fills the last block
        self.sums, self.counts = np.zeros((0, self.features)), np.zeros(0)
        self.visited = self.size

    def _each(self, function: Callable[[int, slice, slice], T], parts: list[slice]) -> list[T]:
        """The results for each part, by all threads. The function gets its number, its blocks, and their points."""

        def share(first: int) -> list[T]:
            numbers = range(first, len(parts), self._threads)
            return [function(n, parts[n], slice(parts[n].start * BLOCK, parts[n].stop * BLOCK)) for n in numbers]

        shares = list((self._pool.map if self._pool else map)(share, range(self._threads)))
        return [shares[number % self._threads][number // self._threads] for number in range(len(parts))]

    @property
    def labels(self) -> NDArray[np.int32]:
        return self._labels[: self.size]

    def update(self, centroids: Floats) -> int:
        """Give every point the label of its nearest centroid (k, features). Returns how many changed."""
        clusters = len(centroids)
        if len(self.counts) != clusters:
            # The sums of all parts take less memory than the points.
            self._summed = _parts(len(self.blocks), min(PARTS, self.size // (4 * clusters)))
            self._sums = np.zeros((len(self._summed), clusters, self.features))
            self._counts = np.zeros((len(self._summed), clusters))
            self._labels[: self.size] = -1
            self._bounds = np.zeros((2, 0), self.dtype)
            self._before, self._changed = np.zeros((0, 0)), self.size
        exact = np.zeros((clusters, self.blocks.shape[1]))
        exact[:, : self.features] = centroids
        padded = np.zeros((-(-clusters // GROUP) * GROUP, self.blocks.shape[1]), self.blocks.dtype)
        padded[:clusters] = exact
        half = np.full(len(padded), np.inf, padded.dtype)
        half[:clusters] = (padded[:clusters] ** 2).sum(axis=1) / 2
        epsilon = float(np.finfo(self.dtype).eps)
        close = margin(self.reach, exact, self.dtype)
        rounding = 4 * close + (self.features + 3) * epsilon * self.reach**2  # of a squared distance made of a score
        worth = clusters * self.features >= self.worth
        if worth and not self._bounds.size and self._changed < SETTLED * self.size:
            self._bounds = np.empty((2, len(self._labels)), self.dtype)
        tables = np.zeros((5, len(self._before)))
        if len(self._before):
            longest = float(np.sqrt(max(np.square(c).sum(axis=1).max() for c in (exact, self._before))))
            _fill_tables(exact, self._before, 16 * epsilon * (self.reach + longest), tables)
        tables = tables.astype(self.dtype)
        self._before = exact if self._bounds.size else self._before

        def assign(number: int, part: slice, place: slice) -> tuple[int, int]:
            upper, lower = self._bounds[:, place]
            changed_and_visited: tuple[int, int] = _update(
                *(self.blocks[part], self.size - place.start, padded, half, exact, close, rounding, self._narrow),
                *(self._labels[place], self._sums[number], self._counts[number], upper, lower, tables),
            )
            return changed_and_visited

        results = self._each(assign, self._summed)
        self.sums, self.counts = self._sums.sum(axis=0), self._counts.sum(axis=0)
        self._changed, self.visited = (sum(numbers) for numbers in zip(*results, strict=True))
        return self._changed

    def nearer(self, candidates: Floats, closest: Floats, chosen: Floats) -> NDArray[np.float64]:
        """The sums of min(closest, |x - c|²) over each block of points, (blocks, m). See NumpyShard."""
        sums = np.empty((len(self.blocks), len(candidates)))
        padded = np.zeros((1 + len(candidates), self.blocks.shape[1]), self.dtype)
        padded[0, : self.features], padded[1:, : self.features] = chosen, candidates

        def add(number: int, part: slice, place: slice) -> None:
            _nearer(self.blocks[part], padded, self._narrow, closest[place], sums[part])

        self._each(add, self._parts)
        return sums

    def rows(self, index: NDArray[np.integer]) -> Floats:
        """Points by their number in this shard, (m, features), relative to the centre."""
        return self.blocks[index // BLOCK, : self.features, index % BLOCK]


class LloydShard(NumbaShard):
    """The same without bounds: `update` computes all distances."""

    worth = float("inf")


def _parts(count: int, parts: int) -> list[slice]:
    """`count` blocks in as many parts, but at least one and none without a block unless all are."""
    parts = max(min(parts, count), 1)
    return [slice(number * count // parts, (number + 1) * count // parts) for number in range(parts)]


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


@njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _nearer(blocks, candidates, narrow, closest, sums):
    """min(closest, |x - c|²): for the first candidate of (1 + m, features) it becomes `closest` (points,), for the
    others it is added up over each block into `sums` (blocks, m). See `_nearest_narrow` for `narrow`."""
    squares = np.empty(BLOCK, blocks.dtype)
    for b in range(blocks.shape[0]):
        block, nearest = blocks[b], closest[b * BLOCK : (b + 1) * BLOCK]
        for j in range(candidates.shape[0]):
            if len(narrow) > 0:
                for p in range(BLOCK):
                    square = np.float32(0) * block[0, p]
                    for f in range(len(narrow)):
                        square += (block[f, p] - candidates[j, f]) ** 2
                    squares[p] = square
            else:
                squares[:] = 0
                for f in range(candidates.shape[1]):
                    c = candidates[j, f]
                    for p in range(BLOCK):
                        squares[p] += (block[f, p] - c) ** 2
            if j == 0:
                for p in range(len(nearest)):
                    nearest[p] = squares[p] if squares[p] < nearest[p] else nearest[p]
                continue
            total = 0.0
            for p in range(len(nearest)):
                total += np.float64(squares[p] if squares[p] < nearest[p] else nearest[p])
            sums[b, j - 1] = total


@njit(nogil=True, cache=True, error_model="numpy")
def _fill_tables(centroids, before, slack, tables):
    """For each of the centroids (k, features), `tables` (5, k) becomes: how far it moved; half its distance from the
    nearest other one; a distance within which at most NEAR others are; the farthest move of these, and of all others.
    `slack` is added to moves and subtracted from distances."""
    clusters, features = centroids.shape
    moves, squares = np.empty(clusters), np.empty(clusters)
    for j in range(clusters):
        moves[j] = np.sqrt(((centroids[j] - before[j]) ** 2).sum()) + slack
    for j in range(clusters):
        for m in range(clusters):
            square = 0.0
            for f in range(features):
                square += (centroids[m, f] - centroids[j, f]) ** 2
            squares[m] = square
        squares[j] = np.inf
        limit = np.partition(squares, NEAR)[NEAR] if clusters > NEAR else np.inf
        tables[0, j] = moves[j]
        tables[1, j] = np.sqrt(squares.min()) / 2 - slack
        tables[2, j] = np.sqrt(limit) - slack
        for m in range(clusters):
            if m != j:
                tables[4, j] = max(tables[4, j], moves[m])
                if squares[m] < limit:
                    tables[3, j] = max(tables[3, j], moves[m])


@njit(nogil=True, cache=True, error_model="numpy")
def _update(blocks, size, centroids, half, exact, close, rounding, narrow, labels, sums, counts, upper, lower, tables):
    """Label the points of blocks, of which there are `size` or as many as fit, and correct sums and counts by the
    changed labels. Returns how many changed, and for how many points distances were computed: all without `tables`.
    Bounds, if they aren't empty, are written for those points and moved for the others."""
    model = centroids, half, exact, close, rounding
    best, second = np.empty(BLOCK, blocks.dtype), np.empty(BLOCK, blocks.dtype)
    label, chosen = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    buffer, index, every = np.zeros(blocks.shape[1:], blocks.dtype), np.zeros(BLOCK, np.int64), np.arange(BLOCK)
    scores = best, second, label
    changed = visited = filled = 0
    for b in range(blocks.shape[0]):
        first = b * BLOCK
        some, valid = slice(first, first + BLOCK), min(BLOCK, size - first)
        count = valid
        if tables.shape[1] > 0:
            count = _move_bounds(labels[some], upper[some], lower[some], tables, valid, chosen)
        if count > DENSE or tables.shape[1] == 0:
            state = labels[some], upper[some], lower[some], sums, counts
            changed += _assign(blocks[b], every, valid, model, narrow, state, scores)
            visited += valid
            continue
        if filled + count > BLOCK:
            changed += _assign(buffer, index, filled, model, narrow, (labels, upper, lower, sums, counts), scores)
            visited += filled
            filled = 0
        for i in range(count):
            index[filled + i] = first + chosen[i]
            for f in range(blocks.shape[1]):
                buffer[f, filled + i] = blocks[b, f, chosen[i]]
        filled += count
    if filled > 0:
        changed += _assign(buffer, index, filled, model, narrow, (labels, upper, lower, sums, counts), scores)
    return changed, visited + filled


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _move_bounds(labels, upper, lower, tables, valid, chosen):
    """Widen the bounds of a block's points by the moves in `tables`. Returns how many of the first `valid` points may
    have another nearest centroid now; `chosen` begins with their numbers."""
    crossed = np.empty(BLOCK, np.int8)
    for p in range(BLOCK):
        j = np.uint32(labels[p])
        farthest = upper[p] + tables[0, j]
        near, far = lower[p] - tables[3, j], tables[2, j] - farthest
        near = near if near < far else far
        nearest = lower[p] - tables[4, j]
        nearest = nearest if nearest > near else near
        upper[p], lower[p] = farthest, nearest
        limit = nearest if nearest > tables[1, j] else tables[1, j]
        crossed[p] = np.int8(0) if farthest < limit else np.int8(1)
    count = 0
    eights = crossed.view(np.uint64)
    for eight in range(BLOCK // 8):
        if eights[eight] != 0:
            for p in range(8 * eight, min(8 * eight + 8, valid)):
                chosen[count] = p
                count += crossed[p]
    return count


@njit(nogil=True, cache=True, error_model="numpy")
def _assign(block, index, valid, model, narrow, state, scores):
    """Label the first `valid` points of a block (features, BLOCK), whose places in the labels and bounds of `state` are
    in `index`. Returns how many labels changed. The float64 centroids `exact` (k, features) decide where the two best
    scores of a point differ by at most `close`."""
    centroids, half, exact, close, rounding = model
    labels, upper, lower, sums, counts = state
    best, second, label = scores
    if len(narrow) > 0:
        _nearest_narrow(block, centroids, half, best, second, label, narrow)
    else:
        _nearest_wide(block, centroids, half, best, second, label)
    unsure = 0
    for p in range(BLOCK):
        unsure += second[p] - best[p] <= close
    if unsure > 0:
        for p in range(valid):
            if second[p] - best[p] <= close:
                label[p] = _nearest_exactly(block, p, exact)
    if len(upper) > 0:
        _find_bounds(block, rounding, best, second)
        for p in range(valid):
            upper[index[p]], lower[index[p]] = best[p], second[p]
    changed = 0
    for p in range(valid):
        before, now = labels[index[p]], label[p]
        if before == now:
            continue
        changed += 1
        labels[index[p]] = now
        counts[now] += 1
        for f in range(sums.shape[1]):
            sums[now, f] += block[f, p]
        if before >= 0:
            counts[before] -= 1
            for f in range(sums.shape[1]):
                sums[before, f] -= block[f, p]
    return changed


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _find_bounds(block, rounding, best, second):
    """Turn the two best scores of a block's points (features, BLOCK) into distances: at least that of the nearest
    centroid, and at most that of the second nearest."""
    squares = np.zeros(BLOCK, block.dtype)
    for f in range(block.shape[0]):
        for p in range(BLOCK):
            squares[p] += block[f, p] * block[f, p]
    for p in range(BLOCK):
        farthest, nearest = squares[p] + 2 * best[p] + rounding, squares[p] + 2 * second[p] - rounding
        best[p] = np.sqrt(farthest if farthest > 0 else 0)
        second[p] = np.sqrt(nearest if nearest > 0 else 0)


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
