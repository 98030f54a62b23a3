"""Rank 0 sends synchronously, and nobody receives."""

# Kind: send-without-receive
# Ranks: 0, 1
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.Ssend(np.ones(1), dest=1)
