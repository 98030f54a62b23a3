"""Rank 1 has a row more than the others, and the sum is of all rows."""

# Kind: other-size
# Ranks: 1
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
rows = 400_000 if rank == 1 else 200_000
comm.Allreduce(np.ones(rows), np.empty(rows))
