"""Runs under mpirun: both nets through every exchange, against one process, and with one net left out of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training import training_run
from workshop.engine.training.mpi_exchanges import MPIExchange
from workshop.extension import no_artifacts
from workshop.workloads.sgan import WORKLOAD
from workshop.workloads.sgan import run as workload

SMALL = {"data": "digits", "iterations": 4, "batch": 6, "evaluate_every": 2, "evaluate_images": 40, "trace": 2}
WAYS = {way: {"exchange": way} for way in ("horovod", "mpi", "mpi-per-tensor", "parameter-server", "none")}
CASES = {
    "rank 0 evaluates": {"exchange": "mpi", "evaluate_by": "rank0"},
    "by images": {"exchange": "mpi", "evaluate_unit": "images"},
    "supervised": {"exchange": "mpi", "method": "supervised"},
}


class OneNet(MPIExchange):
    """Exchanges the gradients of all but the last variables, which are the generator's."""

    def average(self, gradients):
        exchanged = super().average(gradients[:8])
        return [*exchanged, *gradients[8:]]


def run(comm, values):
    sink = Memory()
    params = WORKLOAD.check(SMALL | values)
    inputs = WORKLOAD.inputs(params, no_artifacts)
    WORKLOAD.fits(params, inputs, comm.size)
    held = []
    begin = workload.SganTraining

    class Kept(begin):
        def __init__(self, *given):
            super().__init__(*given)
            held.append(self)

    workload.SganTraining = Kept
    try:
        metrics = WORKLOAD.load()(RankContext(comm, sink, inputs), params)
    finally:
        workload.SganTraining = begin
    return {
        "metrics": metrics,
        "weights": [variable.numpy().ravel().tolist() for variable in held[0].variables],
        "names": comm.allgather(sorted({name for _, name, _, _ in sink.events})),
        "artifacts": comm.allgather(sorted(sink.artifacts)),
        "evaluated": comm.allgather(len(held[0].held_out.labels)),
        "waited": comm.allgather([value for _, name, _, value in sink.events if name == "time.wait"]),
    }


def with_one_net(comm):
    """The same where the exchange leaves out the generator."""
    before = training_run.choose
    training_run.choose = lambda way, comm: (OneNet(comm), "as asked for")
    try:
        return run(comm, {})
    finally:
        training_run.choose = before


def main():
    """Writes into the file that is named first; with the word "all" behind it more than the exchanges."""
    comm = MPI.COMM_WORLD
    # Optimising a graph takes most of the time here, and the graph computes the same without it.
    tensorflow().config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    found = {name: run(comm, values) for name, values in WAYS.items()}
    if sys.argv[2:] == ["all"]:
        found |= {name: run(comm, values) for name, values in CASES.items()}
        found["one net"] = with_one_net(comm)
    # One process with batches as large as those of all ranks together, from rank 0's weights.
    if comm.rank == 0:
        found["alone"] = run(MPI.COMM_SELF, {"exchange": "mpi", "batch": SMALL["batch"] * comm.size})
        Path(sys.argv[1]).write_text(json.dumps({"ranks": comm.size, "runs": found}))


if __name__ == "__main__":
    main()
