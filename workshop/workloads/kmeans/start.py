"""Where centroids start: points of the data, chosen over all ranks.

The random numbers are the same on every rank, and so is the start for every number of ranks (as far as sums of
floating-point numbers are, which depend a little on who adds up what).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.workloads.kmeans.numpy_kernel import BLOCK
from workshop.workloads.kmeans.shards import Shard


def random_points(comm: Any, shard: Shard, clusters: int, seed: int) -> NDArray[np.floating]:
    """`clusters` different points, (clusters, features)."""
    edges = _edges(comm, shard.size)
    chosen = np.random.default_rng(seed).choice(int(edges[-1]), clusters, replace=False)
    return _collect(comm, shard, chosen - edges[comm.Get_rank()], clusters)


def plus_plus(
    comm: Any, shard: Shard, clusters: int, seed: int, give_up: Callable[[], bool] = lambda: False
) -> NDArray[np.floating]:
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


def _at(
    shard: Shard,
    place: float,
    line: NDArray[np.float64],
    closest: NDArray[np.floating],
    centroid: NDArray[np.floating],
) -> int:
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


def _collect(comm: Any, shard: Shard, local: NDArray[np.integer], count: int) -> NDArray[np.floating]:
    """On all ranks the points (count, features) that one rank each owns: there `local` is within the shard."""
    points = np.zeros((count, shard.features), shard.dtype)
    owned = (local >= 0) & (local < shard.size)
    points[owned] = shard.rows(local[owned])
    comm.Allreduce(MPI.IN_PLACE, points)
    return points
