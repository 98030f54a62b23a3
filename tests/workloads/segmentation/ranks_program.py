"""Runs under mpirun: institutions with scanners of their own learn in all three ways; rank 0 writes what came out."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.workloads.segmentation import WORKLOAD

SMALL = {"size": 32, "institutions": 3, "evaluate_images": 45, "rate": 0.005}
CASES = {
    "all": {"way": "all", "patients": 48, "rounds": 8, "epochs": 4},
    "ct alone": {
        **{"way": "alone", "modality": "ct", "loss": "tversky"},
        **{"patients": 6, "rounds": 5, "epochs": 1, "evaluate_images": 6},
    },
}


def learned(comm, name):
    sink = Memory()
    params = WORKLOAD.check(SMALL | CASES[name])
    WORKLOAD.fits(params, {}, comm.size)
    metrics = WORKLOAD.load()(RankContext(comm, sink, {}), params)
    return {
        "metrics": metrics,
        "known": sink.metrics,
        "events": [(word, step, value) for _, word, step, value in sink.events],
        "files": {
            name: base64.b64encode(data).decode() for name, (_, data) in sink.artifacts.items() if comm.rank == 0
        },
        "artifacts": comm.allgather(sorted(sink.artifacts)),
    }


def main():
    comm = MPI.COMM_WORLD
    found = {name: learned(comm, name) for name in CASES}
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
