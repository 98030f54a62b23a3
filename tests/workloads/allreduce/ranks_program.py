"""Runs under mpirun: adds up arrays in every way and compares with NumPy; then the workload itself."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.workloads.allreduce import METHODS, WORKLOAD
from workshop.workloads.allreduce.methods import method, obstacle

SIZES = (0, 1, 2, 3, 5, 64, 1001, 30_007)
DTYPES = ("float32", "float64", "int64")


def array(rank: int, size: int, dtype: str) -> np.ndarray:
    """Whole numbers: their sum is exact, in whatever order they are added."""
    return np.random.default_rng([rank, size]).integers(-1000, 1000, size).astype(dtype)


def main() -> None:
    comm = MPI.COMM_WORLD
    wrong, called = [], []
    for name in METHODS:
        # TensorFlow takes seconds to import: with one number of ranks that is enough.
        if (name == "horovod" and comm.size != 2) or obstacle(name, comm) is not None:
            continue
        with method(name, comm) as prepare:
            called.append(name)
            for size, dtype in product(SIZES, DTYPES):
                if name == "horovod" and size == 0:
                    continue
                expected = sum(array(rank, size, dtype) for rank in range(comm.size))
                found = prepare(array(comm.rank, size, dtype))()
                if found.dtype != dtype or not np.array_equal(found, expected):
                    wrong.append([name, comm.rank, size, dtype])
    sink = Memory()
    values = {"smallest": 4, "largest": 1 << 16, "repeats": 3, "methods": "ring,own,parameter-server"}
    metrics = WORKLOAD.load()(RankContext(comm, sink), WORKLOAD.check(values))
    told = comm.gather([[name, step] for _, name, step, _ in sink.events])
    wrong = [one for some in comm.allgather(wrong) for one in some]
    if comm.rank == 0:
        found = {"ranks": comm.size, "called": called, "wrong": wrong, "metrics": metrics, "events": told}
        Path(sys.argv[1]).write_text(json.dumps(found, allow_nan=False))


if __name__ == "__main__":
    main()
