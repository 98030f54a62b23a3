"""Online k-means: batches of a stream, seen once, move the centroids a little each (Sculley, 2010)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data.shards import shard
from workshop.workloads.kmeans.data import Source
from workshop.workloads.kmeans.lloyd import LloydStep, assign
from workshop.workloads.kmeans.shards import Shard


def online(
    ctx: RankContext,
    kernel: type[Shard],
    stream: Source,
    batch: int,
    centre: NDArray[np.floating],
    centroids: NDArray[np.floating],
) -> Iterator[LloydStep]:
    """One step per batch of `batch` points, of which each rank reads its part; the last batch may be smaller.

    Every centroid is the mean of the points that it has been given so far: the more it has seen, the less it moves.
    `centroids` (k, features) are relative to `centre`; a step's inertia is that of its batch before they move.
    """
    seen = np.zeros(len(centroids))
    exact = centroids.astype(np.float64)
    for number, first in enumerate(range(0, stream.size, batch), 1):
        begin, end = shard(min(batch, stream.size - first), ctx.size, ctx.rank)
        with ctx.phase("read"):
            arrived = stream.read(first + begin, first + end)
        with ctx.phase("compute"):
            points = kernel(arrived, centre)
        sums, counts, inertia, changed = assign(ctx, points, exact.astype(centroids.dtype))
        with ctx.phase("compute"):
            seen += counts
            move = (sums - counts[:, None] * exact) / np.maximum(seen, 1)[:, None]
            exact += move
        yield LloydStep(number, exact.astype(centroids.dtype), inertia, int(move.any(axis=1).sum()), changed, False)
