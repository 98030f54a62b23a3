"""Rank 1 waits for a persistent receive that rank 0 doesn't serve."""

# Kind: wait-for-request
# Ranks: 0, 1
# Ranks to start: 2

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    request = comm.Recv_init(np.empty(5), source=0)
    request.Start()
    request.Wait()
