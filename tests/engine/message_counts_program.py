"""Runs under mpirun with counting switched on: two activities, whose messages are known."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.engine.message_counts import MessageCounts
from workshop.extension import MESSAGES

VALUES, CALLS, SENT = 100_000, 5, 1000  # float64 of an all-reduce, how many of them, float64 from rank 0 to rank 1


def main():
    comm = MPI.COMM_WORLD.Dup()
    sink = Memory()
    ctx = RankContext(comm, sink)
    comm.Allreduce(MPI.IN_PLACE, np.ones(VALUES))  # before the run: nobody counts it
    message_counts = MessageCounts(ctx.size)
    ctx.begin_activity = message_counts.begin
    ctx.activity("adding up")
    for _ in range(CALLS):
        comm.Allreduce(MPI.IN_PLACE, np.ones(VALUES))
    ctx.activity("sending")
    if ctx.rank == 0:
        comm.Send(np.ones(SENT), dest=1)
    elif ctx.rank == 1:
        comm.Recv(np.empty(SENT), source=0)
    message_counts.end(ctx)
    if ctx.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(json.loads(sink.artifacts[MESSAGES][1])))


if __name__ == "__main__":
    main()
