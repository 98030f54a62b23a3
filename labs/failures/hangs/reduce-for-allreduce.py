"""Rank 2 calls Reduce, and the others Allreduce."""

# Kind: other-collective
# Ranks: 2
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
result = np.empty(4)
if rank == 2:
    comm.Reduce(np.ones(4), result, root=2)
else:
    comm.Allreduce(np.ones(4), result)
