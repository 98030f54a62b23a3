"""The two kernels of the distributed algorithm, their compilation before the first run, and the centre of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from mpi4py import MPI

from workshop.workloads.kmeans import KMeansParams
from workshop.workloads.kmeans.numpy_kernel import Floats, NumpyShard

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
