"""Rank 2 computes another root for the reduction than the others."""

# Kind: other-root
# Ranks: 2
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
root = rank // 2
comm.Reduce(np.ones(3), np.empty(3), root=root)
