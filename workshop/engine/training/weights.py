"""Whether all ranks hold the same network: its hash on each, and how far apart they are."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from mpi4py import MPI


def digest(weights: Any) -> str:
    """sha256 of all weights' bytes, in their order."""
    checksum = hashlib.sha256()
    for weight in weights:
        checksum.update(np.ascontiguousarray(weight.numpy()).tobytes())
    return checksum.hexdigest()


def spread(comm: Any, weights: Any) -> float:
    """How far apart the ranks' weights are: the largest distance of a rank's from the mean of all ranks, relative to
    that mean's norm; 0 where all are the same. Collective."""
    vector = np.concatenate([weight.numpy().ravel() for weight in weights]).astype(np.float64)
    lowest, highest = vector.copy(), vector.copy()
    comm.Allreduce(MPI.IN_PLACE, lowest, op=MPI.MIN)
    comm.Allreduce(MPI.IN_PLACE, highest, op=MPI.MAX)
    if np.array_equal(lowest, highest):
        return 0.0  # also where the mean, added up in some order, would differ in its last digit
    mean = vector.copy()
    comm.Allreduce(MPI.IN_PLACE, mean, op=MPI.SUM)
    mean /= comm.size
    norm = float(np.linalg.norm(mean))
    farthest = comm.allreduce(float(np.linalg.norm(vector - mean)), op=MPI.MAX)
    return farthest / norm if norm > 0 else float("inf")


def average(comm: Any, variables: Any) -> None:
    """Give all ranks the mean of each floating-point variable. Moving means and variances have no gradient, so each
    rank has its own values otherwise. Collective."""
    for variable in variables:
        value = np.array(variable.numpy(), order="C")
        if value.dtype.kind == "f":
            comm.Allreduce(MPI.IN_PLACE, value, op=MPI.SUM)
            variable.assign(value / value.dtype.type(comm.size))
