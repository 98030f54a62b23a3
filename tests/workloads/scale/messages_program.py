"""What ranks do in test_messages: all-reduces of our own messages against the MPI's, and rank 0 writes the results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from workshop.engine.context import RankContext
from workshop.workloads.scale import StepParams
from workshop.workloads.scale.exchange import ALGORITHMS, Algorithm, NetworkLink, rounds
from workshop.workloads.scale.messages import Messenger
from workshop.workloads.scale.run import run

COMM = MPI.COMM_WORLD
FAST = NetworkLink(1e-5, 1e9)
LENGTH = 1003
PARAMS = {"steps": 3, "compute": 1.0, "input": 0.1, "parameters": 2000, "latency": 10.0, "bandwidth": 500.0}
STEPS = (
    {"per_host": 1, "overlap": True, "bucket": 1000},
    {"evaluate_every": 2, "checkpoint_every": 3},
    {"per_host": 2, "algorithm": "hierarchical", "calibrate": False},
    {"algorithm": "servers", "servers": 2, "bucket": 0, "calibrate": False},
)


def worst_error(algorithm: Algorithm, per_host: int, half: bool) -> float:
    """The largest difference of a sum from that of the MPI, on all ranks. The messages are those of the data."""
    values = np.random.default_rng(COMM.rank).standard_normal(LENGTH).astype(np.float32)
    right = np.empty_like(values)
    COMM.Allreduce(values, right)
    messenger = Messenger(COMM, per_host, FAST, half)
    messenger.all_reduce(values, algorithm, servers=min(2, COMM.size))
    steps = rounds(algorithm, COMM.size, per_host, min(2, COMM.size))[1]
    assert messenger.messages == sum(step.source == COMM.rank for messages in steps for step in messages)
    return COMM.allreduce(float(np.abs(values - right).max()), MPI.MAX)


def main() -> None:
    errors = {
        f"{algorithm} {per_host} {half}": worst_error(algorithm, per_host, half)
        for algorithm in ALGORITHMS
        for per_host in (0, 1, 2)
        for half in (False, True)
    }
    metrics = [dict(run(RankContext(COMM), StepParams(**{**PARAMS, **changes}))) for changes in STEPS]
    if COMM.rank == 0:
        results = {"ranks": COMM.size, "errors": errors, "metrics": metrics}
        Path(sys.argv[1]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
