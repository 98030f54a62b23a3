"""Rank 1 waits for a receive for which nothing was sent."""

# Kind: wait-for-request
# Ranks: 0, 1
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    request = comm.Irecv(np.empty(5), source=0)
    request.Wait()
