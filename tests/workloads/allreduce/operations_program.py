"""Runs under mpirun: every collective against NumPy, ordered algorithms, and the workload itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from workshop.core.errors import BadInput
from workshop.engine.context import Memory, RankContext
from workshop.workloads.allreduce import COLLECTIVES, WORKLOAD, algorithms, operations

SIZES = (4, 20, 4096)


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


def main() -> None:
    comm = MPI.COMM_WORLD
    wrong = []
    for name in COLLECTIVES[:-1]:
        for size in SIZES:
            sent, received = operations.buffers(name, size, comm.rank, comm.size)
            operations.collective(name, comm, sent, received)()
            result = sent if name == "bcast" else received
            if not np.array_equal(result, expected(name, size, comm.rank, comm.size)):
                wrong.append([name, size])
    messages = {}
    variable = "coll_tuned_allreduce_algorithm"
    for algorithm in ("basic_linear", "recursive_doubling", "ring"):
        with algorithms.ordered(variable, algorithms.algorithms(variable)[algorithm]):
            duplicate = comm.Dup()
            messages[algorithm] = algorithms.messages_of(comm, duplicate, "allreduce", 4096)
            duplicate.Free()
    sink = Memory()
    params = WORKLOAD.check({"operation": "all", "largest": 20, "repeats": 3})
    metrics = WORKLOAD.load()(RankContext(comm, sink), params)
    own = WORKLOAD.load()(RankContext(comm), WORKLOAD.check({"methods": "own", "largest": 4, "repeats": 3}))
    try:
        operations.check_memory(comm, "alltoall", 1 << 44)
        refusal = ""
    except BadInput as error:
        refusal = str(error)
    events = [[name, step] for _, name, step, _ in sink.events if not name.startswith("time.")]
    gathered = comm.gather({"wrong": wrong, "events": events, "refusal": refusal})
    if comm.rank == 0:
        table = sink.artifacts["osu.txt"][1].decode()
        result = {
            "ranks": comm.size,
            "each": gathered,
            "messages": messages,
            "metrics": metrics,
            "own": own,
            "table": table,
        }
        Path(sys.argv[1]).write_text(json.dumps(result, allow_nan=False))


if __name__ == "__main__":
    main()
