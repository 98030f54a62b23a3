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
from workshop.engine.data import images
from workshop.workloads import no_artifacts
from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.run import Federation
from workshop.workloads.mnist.heldout import as_inputs

SMALL = {"data": "digits", "images": 160, "model": "dense", "seed": 7, "evaluate_images": 50, "rate": 0.2}
WHOLE = {"steps": 1, "batch": 60_000, "rounds": 4}  # one step on all that an institution has
CASES = {
    **{f"iid {many}": {**WHOLE, "partition": "iid", "institutions": many} for many in (1, 2)},
    **{f"unequal {many}": {**WHOLE, "partition": "unequal", "institutions": many} for many in (3, 4)},
    # 4 institutions with 32 images each to learn from, of which one step reads 8.
    "batches": {"partition": "iid", "institutions": 4, "steps": 1, "batch": 8, "rounds": 6},
    "long": {"partition": "dirichlet", "institutions": 5, "epochs": 2, "batch": 8, "rounds": 3, "participation": 0.6},
    "prox 0": {"algorithm": "fedprox", "mu": 0.0},
    "prox": {"algorithm": "fedprox", "mu": 1.0},
    "adam": {"algorithm": "fedadam", "server_rate": 0.02},
    "all": {"way": "all", "partition": "shift"},
    "alone": {"way": "alone"},
    "centralised": {"way": "centralised"},
}
LONG = CASES["long"]


def federation(comm, name, sink=None):
    values = CASES[name] if name in ("batches", "long") or "steps" in CASES[name] else LONG | CASES[name]
    params = WORKLOAD.check(SMALL | values)
    ctx = RankContext(comm, sink or Memory(), WORKLOAD.inputs(params, no_artifacts))
    return Federation(ctx, params)


def packed(vector):
    return base64.b64encode(np.ascontiguousarray(vector, np.float32).tobytes()).decode()


def learned(comm, name):
    """Weights at the start and at the end, and what was told."""
    sink = Memory()
    made = federation(comm, name, sink)
    start = None if name == "alone" else made.ways[0].model.copy()
    made.rounds()
    metrics = made.finish()
    found = {"metrics": metrics, "events": [(word, step, value) for _, word, step, value in sink.events]}
    if start is not None:
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
        "moved": made.ways[0].rank.line.moved,
        "arrays": over.arrays,
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
    """The last rank hears of a stop after the second round."""

    def __init__(self, hears):
        super().__init__()
        self.asked, self.hears = 0, hears

    def stop_requested(self):
        self.asked += 1
        return self.hears and self.asked >= 2


def main():
    comm = MPI.COMM_WORLD
    found = {"runs": {name: learned(comm, name) for name in CASES}}
    found["watched"] = comm.allgather(watched(comm))
    found["spoiled"] = spoiled(comm)
    stopped = federation(comm, "long", Stop(comm.rank == comm.size - 1))
    stopped.rounds()
    found["stopped"] = stopped.finish()
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
