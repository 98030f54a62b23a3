"""Rank 2 sleeps for hours before its barrier."""

# Kind: sleeping
# Ranks: 2
# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 2:
    time.sleep(7200)
comm.Barrier()
