"""Rank 1 calls the nonblocking broadcast, the others call the blocking one."""

# Kind: other-collective
# Ranks: 1
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
data = np.zeros(10)
if rank == 1:
    comm.Ibcast(data, root=0).Wait()
else:
    comm.Bcast(data, root=0)
