"""Lloyd's algorithm over all ranks: each rank labels its own points, and one all-reduce adds up the sums of all labels.

`online` takes batches of a stream instead, seen once, which move the centroids a little each (Sculley, 2010).
Empty clusters and convergence are treated as scikit-learn treats them.

Centroids start as points of the data, chosen over all ranks (`random_points`, `plus_plus`). The random numbers are the
same on every rank, and so is the start for every number of ranks (as far as sums of floating-point numbers are, which
depend a little on who adds up what).

`kernel` and `compile_for` choose and compile what labels a rank's points, relative to a `centre`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data import shard
from workshop.workloads.kmeans import KMeansParams
from workshop.workloads.kmeans.data import Source
from workshop.workloads.kmeans.numpy_kernel import BLOCK, Floats, NumpyShard

if TYPE_CHECKING:
    from workshop.workloads.kmeans.numba_kernel import NumbaShard

SAMPLE = 10_000  # points whose mean is the centre
CENTRE_BITS = 12
Shard: TypeAlias = "NumpyShard | NumbaShard"  # a rank's points, relative to a centre; Numba takes a second to import


def kernel(backend: str, algorithm: str = "hamerly") -> type[Shard]:
    """The kernel of `numpy` or `numba`, with the bounds of `hamerly` or, like NumPy's, plain `lloyd`.

    daal4py starts and ends with Numba's. Numba is imported only where it is used."""
    if backend == "numpy":
        return NumpyShard
    from workshop.workloads.kmeans.numba_kernel import LloydShard, NumbaShard

    return LloydShard if algorithm == "lloyd" else NumbaShard


def compile_for(shards: type[Shard], point: Floats) -> None:
    """Have a kernel compiled for points like this one, (1, features), unless Numba's cache has it."""
    tiny = shards(point, point[0])
    centroids = np.repeat(point, 256, axis=0)  # enough for bounds
    for _ in range(4):  # the label changes, it doesn't, bounds are computed, bounds are used
        tiny.update(centroids)
    tiny.nearer(point, np.ones(1, point.dtype), point[0])


def centre(comm: Any, points: Floats) -> Floats:
    """A place in the middle of all ranks' points, (features,), the same on all: the mean of some thousands will do.

    Which points are taken depends on their number among all alone, not on the number of ranks. The mean is rounded to
    CENTRE_BITS binary digits: whole numbers up to 255 lose nothing when it is subtracted from them in float32.
    """
    before = comm.exscan(len(points)) or 0  # None on rank 0
    stride = max(comm.allreduce(len(points)) // SAMPLE, 1)
    some = points[-before % stride :: stride]
    sums = np.append(some.sum(axis=0, dtype=np.float64), len(some))
    comm.Allreduce(MPI.IN_PLACE, sums)
    digits, exponents = np.frexp(sums[:-1] / max(sums[-1], 1))
    return np.ldexp(np.rint(np.ldexp(digits, CENTRE_BITS)), exponents - CENTRE_BITS).astype(points.dtype)


def mean_variance(comm: Any, shard: Shard) -> float:
    """The variance of all ranks' points, averaged over features."""
    sums = np.concatenate([shard.total, [shard.squares, shard.size]])
    comm.Allreduce(MPI.IN_PLACE, sums)
    total, squares, size = sums[:-2], sums[-2], sums[-1]
    return float(squares / size - np.square(total / size).sum()) / shard.features


def compile_kernels() -> None:
    """Compile the kernels for photos and for blobs as the form has them, as the ranks of a session find them."""
    params = KMeansParams()
    for features in (3, params.features):
        compile_for(kernel(params.backend), np.zeros((1, features), params.dtype))


AT_ONCE = 65_536  # points whose distances are looked at together


@dataclass(frozen=True)
class LloydStep:
    """The state after an iteration, the same on all ranks."""

    number: int  # from 1
    centroids: Floats  # (k, features), moved
    inertia: float  # of the points' labels, measured from the centroids before they moved
    moved: int  # centroids that moved
    changed: int | None  # points that changed their label; None where that isn't known
    converged: bool
    distances: float | None = None  # that were computed, of all points' from all centroids: a share; None as above


def lloyd(ctx: RankContext, shard: Shard, centroids: Floats, tolerance: float) -> Iterator[LloydStep]:
    """Iterations from the given centroids (k, features), for as long as they are asked for. Centroids are kept in
    float64, so that they don't depend on the points' precision.

    `converged` is true when no label changed, or when the squared moves of all centroids add up to at most
    `tolerance` (in the square of the data's unit).
    """
    number = 0
    centroids = centroids.astype(np.float64)
    while True:
        number += 1
        sums, counts, inertia, changed, distances = assign(ctx, shard, centroids)
        with ctx.phase("compute"):
            empty = np.flatnonzero(counts == 0)
        if len(empty):
            with ctx.phase("communicate"):
                _relocate(ctx, shard, centroids, empty, sums, counts)
        with ctx.phase("compute"):
            means = sums / np.maximum(counts, 1)[:, None]
            means[counts == 0] = means[np.argmax(counts)]  # fewer different points than clusters
            before, centroids = centroids, means
            shift = np.square(centroids - before).sum(axis=1)
        converged = changed == 0 or float(shift.sum()) <= tolerance
        yield LloydStep(number, centroids, inertia, int(np.count_nonzero(shift)), changed, converged, distances)


def fit(
    ctx: RankContext,
    kernel: type[Shard],
    points: Floats,
    start: Floats,
    iterations: int,
    tolerance: float,
) -> tuple[Floats, float, int, NDArray[np.int32]]:
    """k-means as one call, with the meaning of scikit-learn's `KMeans(init=start, max_iter=…, tol=…)`.

    `points` (n, features) are this rank's own, `start` (k, features) is the same on all ranks. Returns the centroids
    (k, features), inertia, iterations, and this rank's labels (n,).
    """
    middle = centre(ctx.comm, points)
    shard = kernel(points, middle)
    steps = lloyd(ctx, shard, start - middle, tolerance * mean_variance(ctx.comm, shard))
    step = next(step for step in steps if step.converged or step.number == iterations)
    _, _, inertia, _, _ = assign(ctx, shard, step.centroids)
    return step.centroids + middle, inertia, step.number, shard.labels


def assign(
    ctx: RankContext, shard: Shard, centroids: Floats
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, int, float]:
    """Label every rank's points; returns what all of them make: sums (k, features), counts (k,), inertia, how many
    points changed their label, and the share of distances that were computed. One all-reduce carries everything.
    """
    clusters, features = centroids.shape
    with ctx.phase("compute"):
        changed = shard.update(centroids)
        buffer = np.concatenate(
            [shard.sums.ravel(), shard.counts, [inertia_of(shard, centroids), changed, shard.visited]]
        )
    ctx.synchronise()
    with ctx.phase("communicate"):
        ctx.comm.Allreduce(MPI.IN_PLACE, buffer)
    sums, counts = np.split(buffer[:-3], [clusters * features])
    inertia, changed, visited = buffer[-3:].tolist()
    share = visited / max(counts.sum(), 1)
    return sums.reshape(clusters, features), counts, max(inertia, 0.0), round(changed), float(share)


def inertia_of(shard: Shard, centroids: Floats) -> float:
    """One rank's share of inertia, after `update` with these centroids (k, features). It follows from the sums,
    in float64: sum |x - c|² = sum |x|² - 2 sum_j c_j·sums_j + sum_j counts_j |c_j|².
    """
    exact = centroids.astype(np.float64)
    return float(shard.squares - 2 * np.vdot(exact, shard.sums) + shard.counts @ np.square(exact).sum(axis=1))


def _relocate(
    ctx: RankContext,
    shard: Shard,
    centroids: Floats,
    empty: NDArray[np.integer],
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> None:
    """Give each empty cluster one of the points farthest from their centroids, taken out of its own cluster's sums.

    Changes `sums` and `counts`, alike on all ranks. Nothing changes where every point sits on its centroid.
    """
    far = _farthest(shard, centroids, len(empty))
    gathered = ctx.comm.allgather((_distances(shard, centroids, far), shard.labels[far], shard.rows(far)))
    distances, labels, points = (np.concatenate(parts) for parts in zip(*gathered, strict=True))
    if distances.max() == 0:
        return
    order = np.argsort(-distances, kind="stable")
    for cluster, chosen in zip(empty, order, strict=False):
        point, donor = points[chosen].astype(np.float64), labels[chosen]
        sums[donor] -= point
        counts[donor] -= 1
        sums[cluster], counts[cluster] = point, 1


def _farthest(shard: Shard, centroids: Floats, count: int) -> NDArray[np.integer]:
    """The `count` points of this rank that lie farthest from their centroids, in order of their number."""
    if shard.size <= count:
        return np.arange(shard.size)
    distances = np.concatenate(
        [
            _distances(shard, centroids, np.arange(first, min(first + AT_ONCE, shard.size)))
            for first in range(0, shard.size, AT_ONCE)
        ]
    )
    return np.sort(np.argsort(-distances, kind="stable")[:count])


def _distances(shard: Shard, centroids: Floats, index: NDArray[np.integer]) -> NDArray[np.float64]:
    """Squared distances of points of this rank from the centroids of their labels."""
    return np.square(shard.rows(index).astype(np.float64) - centroids[shard.labels[index]]).sum(axis=1)


def online(
    ctx: RankContext,
    kernel: type[Shard],
    stream: Source,
    batch: int,
    centre: Floats,
    centroids: Floats,
) -> Iterator[LloydStep]:
    """One step per batch of `batch` points, of which each rank reads its part; the last batch may be smaller.

    Every centroid is the mean of the points that it has been given so far: the more it has seen, the less it moves.
    `centroids` (k, features) are relative to `centre`; a step's inertia is that of its batch before they move.
    """
    points_seen = np.zeros(len(centroids))
    exact = centroids.astype(np.float64)
    for number, first in enumerate(range(0, stream.size, batch), 1):
        begin, end = shard(min(batch, stream.size - first), ctx.size, ctx.rank)
        with ctx.phase("read"):
            arrived = stream.read(first + begin, first + end)
        with ctx.phase("compute"):
            points = kernel(arrived, centre)
        sums, counts, inertia, changed, distances = assign(ctx, points, exact)
        with ctx.phase("compute"):
            points_seen += counts
            move = (sums - counts[:, None] * exact) / np.maximum(points_seen, 1)[:, None]
            exact += move
        yield LloydStep(number, exact.copy(), inertia, int(move.any(axis=1).sum()), changed, False, distances)


def random_points(comm: Any, shard: Shard, clusters: int, seed: int) -> Floats:
    """`clusters` different points, (clusters, features)."""
    edges = _edges(comm, shard.size)
    chosen = np.random.default_rng(seed).choice(int(edges[-1]), clusters, replace=False)
    return _collect(comm, shard, chosen - edges[comm.Get_rank()], clusters)


def plus_plus(comm: Any, shard: Shard, clusters: int, seed: int, give_up: Callable[[], bool] = lambda: False) -> Floats:
    """k-means++ (Arthur and Vassilvitskii, 2007), (clusters, features): each next centroid is a point drawn in
    proportion to its squared distance from the nearest centroid so far; the best of 2 + log k draws is kept, as
    scikit-learn does. When all ranks `give_up()`, the centroids that are left are copies of the first.
    """
    random = np.random.default_rng(seed)
    rank, trials = comm.Get_rank(), 2 + int(np.log(clusters))
    edges = _edges(comm, shard.size)
    centroids = np.empty((clusters, shard.features), shard.dtype)
    centroids[:1] = _collect(comm, shard, random.integers(int(edges[-1]), size=1) - edges[rank], 1)
    closest = np.full(shard.size, np.inf, shard.dtype)
    sums = shard.nearer(centroids[:1], closest, centroids[0])[:, 0]
    edges = _edges(comm, float(sums.sum()))
    potentials = np.empty((comm.Get_size(), trials))
    for j in range(1, clusters):
        if give_up():
            centroids[j:] = centroids[0]
            break
        # A draw is a place on the line of all points' squared distances laid end to end; some rank owns it.
        line = np.cumsum(sums)
        draws = random.random(trials) * edges[-1]
        owner = np.minimum(np.searchsorted(edges[1:], draws), comm.Get_size() - 1)
        local = [
            _at(shard, draw - edges[rank], line, closest, centroids[j - 1]) if rank == where else -1
            for where, draw in zip(owner, draws, strict=True)
        ]
        candidates = _collect(comm, shard, np.array(local), trials)

        # One pass over the points takes in the centroid before and tries the candidates.
        sums_of_candidates = shard.nearer(candidates, closest, centroids[j - 1])
        comm.Allgather(sums_of_candidates.sum(axis=0), potentials)
        best = int(np.argmin(potentials.sum(axis=0)))
        centroids[j], edges = candidates[best], np.cumsum([0.0, *potentials[:, best]])
        sums = sums_of_candidates[:, best]
    return centroids


def _at(shard: Shard, place: float, line: NDArray[np.float64], closest: Floats, centroid: Floats) -> int:
    """The number of the point at a place of this rank's line, on which block b of points ends at `line[b]`. The newest
    centroid (features,) isn't in `closest` yet."""
    block = min(int(np.searchsorted(line, place)), len(line) - 1)
    index = np.arange(block * BLOCK, min((block + 1) * BLOCK, shard.size))
    some = np.minimum(closest[index], np.square(shard.rows(index) - centroid).sum(axis=1))
    begin = line[block - 1] if block else 0.0
    within = int(np.searchsorted(np.cumsum(some, dtype=np.float64), place - begin))
    return block * BLOCK + min(within, len(some) - 1)


def _edges(comm: Any, amount: float) -> NDArray[Any]:
    """Where each rank's part of a total begins, and the total: (ranks + 1,)."""
    return np.cumsum([0, *comm.allgather(amount)])


def _collect(comm: Any, shard: Shard, local: NDArray[np.integer], count: int) -> Floats:
    """On all ranks the points (count, features) that one rank each owns: there `local` is within the shard."""
    points = np.zeros((count, shard.features), shard.dtype)
    owned = (local >= 0) & (local < shard.size)
    points[owned] = shard.rows(local[owned])
    comm.Allreduce(MPI.IN_PLACE, points)
    return points
