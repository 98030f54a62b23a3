"""Rank 0 sends a large message to rank 1, which is in a barrier first."""

# Kind: send-without-receive
# Ranks: 0
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
data = np.ones(1_000_000)
if rank == 0:
    comm.Send(data, dest=1)
comm.Barrier()
if rank == 1:
    comm.Recv(data, source=0)
