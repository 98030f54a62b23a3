"""Rank 0 sends synchronously before its sum, and rank 1 receives after the sum."""

# Kind: send-without-receive
# Ranks: 0
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
result = np.empty(1)
if rank == 0:
    comm.Ssend(np.ones(1), dest=1)
comm.Iallreduce(np.ones(1), result).Wait()
if rank == 1:
    comm.Recv(result, source=0)
