"""Rank 1 expects a broadcast of other size than the root sends."""

# Kind: other-size
# Ranks: 1
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
data = np.zeros(3_000_000 if rank == 1 else 2_000_000)
comm.Bcast(data, root=0)
