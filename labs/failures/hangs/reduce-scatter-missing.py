"""Rank 2 takes no part in the reduce-scatter, because it has no gradient."""

# Kind: ended
# Ranks: 2
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
gradient = np.ones(3) if rank < 2 else None
if gradient is not None:
    comm.Reduce_scatter(gradient, np.empty(1), recvcounts=[1, 1, 1])
