"""Runs under mpirun: federations on as many ranks as there are, and rank 0 writes what came out."""

from __future__ import annotations

import base64
import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from tests.workloads.federated.watched import Watched
from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.run import Federation
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.heldout import as_inputs

SMALL = {"data": "digits", "images": 160, "model": "dense", "seed": 7, "evaluate_images": 50, "rate": 0.2}
WHOLE = {"epochs": 1, "batch": 60_000, "rounds": 4}  # one step on all that an institution has
CASES = {
    "iid 2": {**WHOLE, "partition": "iid", "institutions": 2},
    "label 4": {**WHOLE, "partition": "label", "classes": 4, "institutions": 4},
    "long": {"partition": "dirichlet", "institutions": 5, "epochs": 2, "batch": 8, "rounds": 3, "participation": 0.6},
    "prox": {"algorithm": "fedprox", "mu": 1.0},
    "adam": {"algorithm": "fedadam", "server_rate": 0.02},
    "all": {"way": "all"},
    "robust": {"attack": "scale", "rule": "trimmed", "beside": "no"},
    "hidden": {"privacy": "institutions", "participation": 0.5, "clip": 0.2, "beside": "no"},
}
LONG = CASES["long"]


def federation(comm, name, sink=None):
    values = CASES[name] if name == "long" or "batch" in CASES[name] else LONG | CASES[name]
    params = WORKLOAD.check(SMALL | values)
    ctx = RankContext(comm, sink or Memory(), WORKLOAD.inputs(params, no_artifacts))
    return Federation(ctx, params)


def packed(vector):
    return base64.b64encode(np.ascontiguousarray(vector, np.float32).tobytes()).decode()


def learned(comm, name):
    """Weights at the start and at the end, and what was told."""
    sink = Memory()
    made = federation(comm, name, sink)
    start = made.ways[0].model.copy()
    made.rounds()
    metrics = made.finish()
    found = {"metrics": metrics, "events": [(word, step, value) for _, word, step, value in sink.events]}
    found |= {"start": packed(start), "end": packed(made.ways[0].model)}
    found["lives"] = comm.allgather(sorted(made.ways[0].rank.silos))
    return found


def watched(comm):
    """All that ranks hand to MPI in a run of all that is federated: names of calls, the largest number of bytes, and
    whether any image or row of labels of anybody is in it."""
    over = Watched(comm)
    made = federation(over, "long")
    made.rounds()
    made.finish()
    everything = images.read(made.ctx.inputs)
    pixels = as_inputs(everything.train_images)
    labels = [made.ways[0].rank.silos[one].labels for one in made.ways[0].rank.silos]
    secrets = [one.tobytes() for one in everything.train_images[:, 8:20]]
    secrets += [one[8:20].tobytes() for one in pixels]
    secrets += [one[:12].astype(kind).tobytes() for one in labels for kind in ("uint8", "int32", "int64", "float64")]
    return {
        "calls": sorted({name for name, _ in over.sent}),
        "sizes": sorted({len(data) for _, data in over.sent}),
        "model": made.parameters * 4,
        "leaks": sum(secret in data for name, data in over.sent for secret in secrets if len(data) >= len(secret)),
    }


def spoiled(comm):
    """A run in which the second institution's images are no numbers."""
    sink = Memory()
    made = federation(comm, "long", sink)
    silos = made.ways[0].rank.silos
    if 1 in silos:
        silos[1] = dataclasses.replace(silos[1], images=silos[1].images * np.nan)
    made.rounds()
    finite = bool(np.isfinite(made.ways[0].model).all())
    return {"metrics": made.finish(), "finite": finite}


class Stop(Memory):
    """The last rank hears of a stop when it asks for the `asked`-th time after the end of round `over`; the first time
    is when that round ends, all others are within the next one."""

    def __init__(self, hears, over, asked):
        super().__init__()
        self.hears, self.over, self.asked = hears, over, asked
        self.reached = over == 0

    def emit(self, name, value, step, time):
        super().emit(name, value, step, time)
        self.reached = self.reached or (name == "time.train" and step == self.over)

    def stop_requested(self):
        if self.hears and self.reached:
            self.asked -= 1
        return self.asked <= 0


def stopped(comm, name, over, asked):
    """A stop that the last rank hears of."""
    made = federation(comm, name, Stop(comm.rank == comm.size - 1, over, asked))
    made.rounds()
    return {"metrics": made.finish(), "read": comm.allgather(made.images_read)}


def main():
    comm = MPI.COMM_WORLD
    found = {"runs": {name: learned(comm, name) for name in CASES}}
    found["watched"] = comm.allgather(watched(comm))
    found["spoiled"] = spoiled(comm)
    found["stopped"] = {
        "between": stopped(comm, "all", 2, 1),
        "within": stopped(comm, "all", 2, 4),
        "first": stopped(comm, "long", 0, 2),
    }
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
