"""Rank 2 has no more work and ends long before the others."""

# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
part = comm.Split(0 if rank < 2 else MPI.UNDEFINED)
if rank < 2:
    for _ in range(4):
        time.sleep(rank)
        part.Barrier()
