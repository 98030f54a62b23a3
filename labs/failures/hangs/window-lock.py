"""Rank 0 keeps rank 0's window locked in the barrier, and rank 1 wants the lock before it."""

# Kind: missing-from-collective
# Ranks: 1
# Ranks to start: 2

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
window = MPI.Win.Allocate(8, comm=comm)
if rank == 1:
    comm.recv(source=0)
window.Lock(0)
window.Get(np.empty(1), 0)
window.Flush(0)
if rank == 0:
    comm.send("locked", dest=1)
comm.Barrier()
