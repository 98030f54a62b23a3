"""Rank 0 waits for two receives, and one message comes late."""

# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    requests = [comm.irecv(source=source) for source in (1, 2)]
    MPI.Request.waitall(requests)
else:
    time.sleep(4 * (rank == 2))
    comm.send(rank, dest=0)
