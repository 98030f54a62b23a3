"""What the distributed algorithm asks of a kernel, and the two kernels there are."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.workloads.kmeans.numpy_kernel import NumpyShard

SAMPLE = 10_000  # points whose mean is the centre


class Shard(Protocol):
    """One rank's points, relative to a centre; see NumpyShard for the shapes."""

    size: int
    features: int
    dtype: np.dtype
    total: NDArray[np.float64]
    squares: float
    sums: NDArray[np.float64]
    counts: NDArray[np.float64]

    @property
    def labels(self) -> NDArray[np.int32]: ...
    def update(self, centroids: NDArray[np.floating]) -> int: ...
    def distances(self, centroids: NDArray[np.floating]) -> NDArray[np.floating]: ...
    def rows(self, index: NDArray[np.integer]) -> NDArray[np.floating]: ...


def kernel(backend: str) -> type[Shard]:
    """The kernel of `numpy` or `numba`; daal4py starts and ends with the latter's. Numba is imported only where it is
    used."""
    if backend == "numpy":
        return NumpyShard
    from workshop.workloads.kmeans.numba_kernel import NumbaShard

    return NumbaShard


def compile_for(shards: type[Shard], point: NDArray[np.floating]) -> None:
    """Have a kernel compiled for points like this one, (1, features), unless Numba's cache has it."""
    tiny = shards(point, point[0])
    tiny.update(point)
    tiny.distances(point)


def centre(comm: Any, points: NDArray[np.floating]) -> NDArray[np.floating]:
    """A place in the middle of all ranks' points, (features,), the same on all: the mean of some thousands will do.

    Which points are taken depends on their number among all alone, not on the number of ranks.
    """
    before = comm.exscan(len(points)) or 0  # rank 0 is told None
    stride = max(comm.allreduce(len(points)) // SAMPLE, 1)
    some = points[-before % stride :: stride]
    found = np.append(some.sum(axis=0, dtype=np.float64), len(some))
    comm.Allreduce(MPI.IN_PLACE, found)
    return (found[:-1] / max(found[-1], 1)).astype(points.dtype)


def mean_variance(comm: Any, shard: Shard) -> float:
    """The variance of all ranks' points, averaged over features."""
    found = np.concatenate([shard.total, [shard.squares, shard.size]])
    comm.Allreduce(MPI.IN_PLACE, found)
    total, squares, size = found[:-2], found[-2], found[-1]
    return float(squares / size - np.square(total / size).sum()) / shard.features
