"""Runs under mpirun: sums in every way and every collective against NumPy, ordered algorithms, and the workload."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.workloads.allreduce import COLLECTIVES, METHODS, WORKLOAD, algorithms, operations
from workshop.workloads.allreduce.methods import method, obstacle

LENGTHS = (0, 1, 2, 3, 5, 64, 1001, 30_007)
DTYPES = ("float32", "float64", "int64")
SIZES = (4, 20, 4096)
METHOD_PARAMS = {"smallest": 4, "largest": 1 << 16, "repeats": 3, "methods": "ring,own,parameter-server"}
OPERATION_PARAMS = {"operation": "all", "largest": 20, "repeats": 3}


def array(rank: int, size: int, dtype: str) -> np.ndarray:
    """Whole numbers: their sum is exact, in whatever order they are added."""
    return np.random.default_rng([rank, size]).integers(-1000, 1000, size).astype(dtype)


def sums(comm: MPI.Comm) -> tuple[list[str], list[list]]:
    """The methods that add up here, and the sums that are wrong on this rank."""
    called, wrong = [], []
    for name in METHODS:
        # TensorFlow takes seconds to import: with one number of ranks that is enough.
        if (name == "horovod" and comm.size != 2) or obstacle(name, comm) is not None:
            continue
        with method(name, comm) as prepare:
            called.append(name)
            for size, dtype in product(LENGTHS[1:] if name == "horovod" else LENGTHS, DTYPES):
                expected = sum(array(rank, size, dtype) for rank in range(comm.size))
                result = prepare(array(comm.rank, size, dtype))()
                if result.dtype != dtype or not np.array_equal(result, expected):
                    wrong.append([name, size, dtype])
    return called, wrong


def expected(name: str, size: int, rank: int, ranks: int) -> np.ndarray:
    """The result of a collective, from the arrays of all ranks."""
    sent = [operations.buffers(name, size, number, ranks)[0] for number in range(ranks)]
    if name == "bcast":
        return sent[0]
    if name == "allgather":
        return np.concatenate(sent)
    if name == "alltoall":
        return np.concatenate([array.reshape(ranks, -1)[rank] for array in sent])
    total = np.sum(sent, axis=0)
    if name == "reduce_scatter":
        lengths = [operations.lengths(name, size, number, ranks)[1] for number in range(ranks)]
        return np.split(total, np.cumsum(lengths)[:-1])[rank]
    return total if name == "allreduce" or rank == 0 else np.zeros_like(total)


def collectives(comm: MPI.Comm) -> list[list]:
    """The collectives whose result is wrong on this rank."""
    wrong = []
    for name, size in product(COLLECTIVES[:-1], SIZES):
        sent, received = operations.buffers(name, size, comm.rank, comm.size)
        operations.collective(name, comm, sent, received)()
        result = sent if name == "bcast" else received
        if not np.array_equal(result, expected(name, size, comm.rank, comm.size)):
            wrong.append([name, size])
    return wrong


def run(comm: MPI.Comm, values: dict) -> dict:
    """The workload's metrics, events of all ranks but times, and the table."""
    sink = Memory()
    metrics = WORKLOAD.load()(RankContext(comm, sink), WORKLOAD.check(values))
    events = comm.gather([[name, step] for _, name, step, _ in sink.events if not name.startswith("time.")])
    return {"metrics": metrics, "events": events, "table": sink.artifacts.get("osu.txt", ("", b""))[1].decode()}


def main() -> None:
    comm = MPI.COMM_WORLD
    called, wrong = sums(comm)
    results = {
        "ranks": comm.size,
        "called": called,
        "wrong": [result for of_rank in comm.allgather(wrong + collectives(comm)) for result in of_rank],
        "messages": {},
    }
    variable = "coll_tuned_allreduce_algorithm"
    for algorithm in ("basic_linear", "recursive_doubling", "ring"):
        with algorithms.ordered(variable, algorithms.algorithms(variable)[algorithm]):
            duplicate = comm.Dup()
            results["messages"][algorithm] = algorithms.messages_of(comm, duplicate, "allreduce", 4096)
            duplicate.Free()
    results |= {"methods": run(comm, METHOD_PARAMS), "operations": run(comm, OPERATION_PARAMS)}
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(results, allow_nan=False))


if __name__ == "__main__":
    main()
