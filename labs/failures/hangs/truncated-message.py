"""Rank 1 has no room for the message, so its receive raises an exception."""

# Kind: raised
# Ranks: 1
# Ranks to start: 2

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.Send(np.ones(10), dest=1)
    comm.Recv(np.empty(1), source=1)
else:
    comm.Recv(np.empty(5), source=0)
    comm.Send(np.ones(1), dest=0)
