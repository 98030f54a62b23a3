"""Ranks add to a window of rank 0, fence after fence."""

# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
window = MPI.Win.Allocate(8, comm=comm)
for _ in range(100):
    window.Fence()
    window.Accumulate(np.ones(1), 0)
window.Fence()
window.Free()
