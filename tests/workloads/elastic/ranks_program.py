"""Elastic training under mpirun: the result, the activities and the final weights of the first rank that is left."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpi4py import MPI

from workshop.engine.__main__ import leave
from workshop.engine.context import Memory, RankContext
from workshop.workloads.elastic import WORKLOAD
from workshop.workloads.elastic.communicator import Membership
from workshop.workloads.elastic.run import ElasticTraining


class DoomedMembership(Membership):
    """Rank 2 is killed while the first member starts a new rank, which then prepares itself."""

    def spawn(self, numbers: Sequence[int], order: Mapping[str, Any]) -> None:
        super().spawn(numbers, order)
        if self.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"
    world, sink = MPI.COMM_WORLD, Memory()
    params = WORKLOAD.check({"data": "digits", "images": 480, "model": "dense"} | json.loads(sys.argv[2]))
    ctx = RankContext(world, sink)
    training = ElasticTraining(params, {}, world.size)
    kind = DoomedMembership if sys.argv[3:] else Membership
    metrics = training.run(ctx, kind(world, world.rank, True, range(world.size)))
    if ctx.rank == 0:
        weights = [value.numpy().tolist() for value in training.network.model.trainable_variables]
        names = {name for _, name, _, _ in sink.events}
        result = {"metrics": metrics, "activities": sink.activities, "events": sorted(names), "weights": weights}
        Path(sys.argv[1]).write_text(json.dumps(result))
    if metrics["joins"]:
        ctx.comm.gather(ctx.phase_seconds)  # a new rank tells them at its end, as every rank does without a session
    if metrics["losses"]:
        leave(ctx.comm)


if __name__ == "__main__":
    main()
