"""Rank 0 waits until rank 1 opens its window, and rank 1 is in a barrier."""

# Kind: missing-from-collective
# Ranks: 0
# Ranks to start: 2

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
window = MPI.Win.Allocate(8, comm=comm)
other = comm.group.Incl([1 - rank])
if rank == 0:
    window.Start(other)
    window.Put(np.ones(1), 1)
    window.Complete()
comm.Barrier()
if rank == 1:
    window.Post(other)
    window.Wait()
