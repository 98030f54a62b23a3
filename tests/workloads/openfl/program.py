"""Runs under mpirun: federations with OpenFL one after the other, and our own run of the same settings."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import psutil
from mpi4py import MPI

from tests.mpis import HOME
from workshop.core.errors import WorkshopError
from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.registry import workload
from workshop.workloads.openfl import WORKLOAD

SMALL = {"data": "digits", "model": "dense", "rounds": 3, "epochs": 2, "seed": 3}
FAULTS = {"foreign-certificate": {"images": 200, "epochs": 1, "collaborators": 2}}
LESIONS = {"task": "segmentation", "collaborators": 2, "rounds": 2, "patients": 20, "epochs": 2}
FINDS = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")


class Stopping(Memory):
    """Asks for a stop as soon as collaborators have been started."""

    def publish(self, metrics):
        super().publish(metrics)
        started = [one["command"] for one in metrics.get("fx", [])]
        if any(command.startswith("fx collaborator start") for command in started) and not self.stop:
            self.stop = True


def run(comm, values, sink=None):
    """What a run told and left."""
    sink = sink or Memory()
    params = WORKLOAD.check(SMALL | values)
    inputs = WORKLOAD.inputs(params, no_artifacts)
    WORKLOAD.fits(params, inputs, comm.size)
    before = folders()
    metrics, error = {}, None
    try:
        metrics = WORKLOAD.load()(RankContext(comm, sink, inputs), params)
    except WorkshopError as refused:
        error = str(refused)
    logs = {name: data for name, (_, data) in sink.artifacts.items()}
    everything = comm.allgather(logs)
    return {
        "metrics": metrics,
        "error": error,
        "events": [[name, step, value] for _, name, step, value in sink.events],
        "known": sink.metrics,
        "logs": [sorted(one) for one in everything],
        "keys": [name for one in everything for name, data in one.items() if FINDS.search(data)],
        "processes": sum(comm.allgather(len(psutil.Process().children(recursive=True)))),
        "folders": comm.allgather(sorted(folders() - before)),
    }


def folders():
    """Those of runs, with keys in them, that are there."""
    return {path.name for path in Path(tempfile.gettempdir()).glob("workshop-openfl-*")}


def ours(name="federated", values=SMALL):
    """The same settings on a rank of our own."""
    params = WORKLOAD.check(values).as_federated()
    chosen = workload(name)
    inputs = chosen.inputs(params, no_artifacts) if chosen.inputs else {}
    return chosen.load()(RankContext(MPI.COMM_SELF, Memory(), inputs), params)


def main():
    """Writes into the file that is named first; the words behind it are cases."""
    comm = MPI.COMM_WORLD
    os.environ |= {"WORKSHOP_HOME": str(HOME), "WORKSHOP_OFFLINE": "1"}
    # A folder for the temporary files of this program, so that those of others don't matter.
    tempfile.tempdir = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
    found = {}
    for case in sys.argv[2:]:
        if case == "stopped":
            found[case] = run(comm, {"rounds": 50}, Stopping())
        elif case == "ours":
            found[case] = {"metrics": ours() if comm.rank == 0 else {}}
        elif case == "lesions":
            found[case] = run(comm, LESIONS)
            found[case]["ours"] = ours("segmentation", SMALL | LESIONS) if comm.rank == 0 else {}
        else:
            found[case] = run(comm, {"fault": case} | FAULTS.get(case, {}))
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
