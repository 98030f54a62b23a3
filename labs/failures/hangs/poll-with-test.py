"""Rank 0 tests a request again and again that nobody completes."""

# Kind: wait-for-request
# Ranks: 0, 1
# Ranks to start: 2

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    request = comm.irecv(source=1)
    while not request.test()[0]:
        time.sleep(0.01)
