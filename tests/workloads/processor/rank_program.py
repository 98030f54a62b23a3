"""Runs of one rank under mpirun, one for each switch, and what is refused on the rank; or, with a second word, the runs
of the other switches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from workshop.core.errors import BadInput
from workshop.engine.context import Memory, RankContext
from workshop.workloads.processor import WORKLOAD
from workshop.workloads.processor import run as runs
from workshop.workloads.processor.kernels import primitive
from workshop.workloads.processor.run import LOG

SMALL = {"batch": 2, "image_size": 32, "warmup": 2, "steps": 2, "intra": 1, "inter": 1}
INFERENCE = {"mode": "inference"}
RUNS = {
    "usual": {},
    "without": {"onednn": False, **INFERENCE},
    "fused": INFERENCE,
    "bfloat16": {"precision": "bfloat16", **INFERENCE},
}
MORE = {
    "nchw": {"layout": "nchw", **INFERENCE},
    "unfused": {"fusion": False, **INFERENCE},
    "silent": {"log": False, **INFERENCE},
}
REFUSED = {
    "threads": {"intra": 1024},
    "layout": {"layout": "nchw", "precision": "float16"},
    "process": {"steps": 0},  # which the process refuses itself
}


def measure(comm, params):
    """The metrics of a run, its log's primitives by whether they add a bias, and its events' number."""
    sink = Memory()
    metrics = WORKLOAD.load()(RankContext(comm, sink), WORKLOAD.check(SMALL | params))
    log = sink.artifacts[LOG][1].decode().splitlines() if LOG in sink.artifacts else []
    read = [line for line in map(primitive, log) if line is not None]
    biased = sum("bia" in line.tensors for line in read if line.kind == "convolution")
    return {"metrics": metrics, "lines": len(read), "biased": biased}


def refusal(comm, params):
    """The sentence of a run that is refused; params are not checked before."""
    try:
        runs.run(RankContext(comm, Memory()), WORKLOAD.params.model_construct(**SMALL | params))
    except BadInput as error:
        return str(error)
    return ""


def main(words):
    world = MPI.COMM_WORLD
    runs_of = MORE if words[1:] else RUNS
    results = {"runs": {name: measure(world, params) for name, params in runs_of.items()}, "refused": {}}
    if not words[1:]:
        results["refused"] = {name: refusal(world, params) for name, params in REFUSED.items()}
        runs.PROCESS_SECONDS = 0.0
        results["refused"]["limit"] = refusal(world, INFERENCE)
    Path(words[0]).write_text(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
