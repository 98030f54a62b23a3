"""Runs under mpirun: attacks on every rank, each with its own digit; and one that is asked to stop."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

from mpi4py import MPI

from tests.workloads.inversion import attacked
from workshop.engine.context import Memory

CNN = {"iterations": 160, "starts": 1}
CASES = {
    "cnn": CNN,
    "dense": {"model": "dense"},
    "sum": {"model": "dense", "protect": "sum", "institutions": 3},
    "stopped": {**CNN, "iterations": 5000},
}


def run(comm, name):
    sink = Memory()
    sink.stop = name == "stopped" and comm.rank == 1  # whoever asks, all end
    metrics, sink = attacked.run(CASES[name], sink, comm)
    told = [(event, step) for _, event, step, _ in sink.events]
    return {
        "metrics": comm.allgather(metrics),
        "told": comm.allgather(told),
        "artifacts": comm.allgather(
            {name: base64.b64encode(data).decode() for name, (_, data) in sink.artifacts.items()}
        ),
    }


def main():
    comm = MPI.COMM_WORLD
    found = {name: run(comm, name) for name in CASES}
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
