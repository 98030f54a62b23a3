"""Thousands of sums, one after the other."""

# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
result = np.empty(10)
for _ in range(3000):
    comm.Allreduce(np.ones(10), result)
