"""Runs under mpirun: the workload with one step of the recipe after the other switched off, and more."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training import checkpoint
from workshop.extension import no_artifacts
from workshop.workloads.mnist import WORKLOAD

SMALL = {"exchange": "horovod", "data": "digits", "images": 400, "epochs": 2, "batch": 32, "trace": 4, "model": "dense"}
CASES = {
    "all": {},
    "broadcast": {"broadcast": False},
    "shard": {"shard": False},
    "divide": {"divide": False},
    "shard and divide": {"shard": False, "divide": False},
    "scale none": {"scale": "none"},
    "scale sqrt": {"scale": "sqrt"},
    "average": {"average": False},
    "checkpoint": {"checkpoint": "every-rank"},
    "checkpoint and broadcast": {"checkpoint": "every-rank", "broadcast": False},
    "none": {"exchange": "none"},
    "mpi": {"exchange": "mpi"},
    "overlap": {"exchange": "mpi-overlap", "bucket": 0.04},
    "accumulate": {"accumulate": 2, "scale": "none", "batch": 16},
    "8bit": {"exchange": "mpi", "compression": "8bit"},
    "diverges": {"rate": 100.0, "warmup": 0, "epochs": 8, "optimizer": "momentum"},
    "steps": {"steps": 5},
    "odd": {"images": 401, "batch": 200, "epochs": 1},
}


class Stop(Memory):
    """Only the last rank hears of a stop, in its second block."""

    def __init__(self, hears):
        super().__init__()
        self.asked = 0
        self.hears = hears

    def stop_requested(self):
        self.asked += 1
        return self.hears and self.asked >= 2


def run(comm, values, sink=None, **inputs):
    sink = sink or Memory()
    params = WORKLOAD.check(SMALL | values)
    ctx = RankContext(comm, sink, {**WORKLOAD.inputs(params, no_artifacts), **inputs})
    metrics = WORKLOAD.load()(ctx, params)
    artifacts = {name: len(data) for name, (_, data) in sink.artifacts.items()}
    events = comm.allgather([(name, step, value) for _, name, step, value in sink.events])
    return {"metrics": metrics, "artifacts": comm.allgather(artifacts), "events": events}, sink


def normalised(comm, folder):
    """A model with batch normalisation, saved by rank 0."""
    path = Path(folder) / "normalised.keras"
    if comm.rank == 0:
        keras = tensorflow().keras
        layers = keras.layers
        inner = [layers.Flatten(), layers.Dense(32), layers.BatchNormalization(), layers.Dense(10)]
        keras.Sequential([layers.Input((28, 28, 1)), *inner]).save(path)
    comm.Barrier()
    return str(path)


def main():
    comm = MPI.COMM_WORLD
    # Optimising a graph takes most of the time here, and the graph computes the same without it.
    tensorflow().config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    found = {name: run(comm, values)[0] for name, values in CASES.items()}
    found["stopped"] = run(comm, {}, Stop(comm.rank == comm.size - 1))[0]
    # A run of one epoch, gone on from by another one, against the run of two epochs above.
    half, sink = run(comm, {"epochs": 1})
    kept = comm.bcast(sink.artifacts.get(checkpoint.NAME, ("", b""))[1])
    found["half"] = half
    found["resumed"] = run(comm, {}, **{checkpoint.NAME: kept})[0]
    # Goes on in the middle of an epoch.
    _, sink = run(comm, {"steps": 10, "checkpoint_every": 3})
    kept = comm.bcast(sink.artifacts.get(checkpoint.NAME, ("", b""))[1])
    found["resumed within"] = run(comm, {"checkpoint_every": 3}, **{checkpoint.NAME: kept})[0]
    found["resumed with another batch"] = run(comm, {"batch": 40}, **{checkpoint.NAME: kept})[0]
    with tempfile.TemporaryDirectory() as folder:
        path = normalised(comm, comm.bcast(folder))
        found["normalised"] = run(comm, {"model": path, "checkpoint": "every-rank"})[0]
        comm.Barrier()
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps({"ranks": comm.size, "runs": found}))


if __name__ == "__main__":
    main()
