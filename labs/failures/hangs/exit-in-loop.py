"""Rank 1 calls sys.exit when it has no more work."""

# Kind: ended
# Ranks: 1
# Ranks to start: 3

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
for step in range(5):
    if rank == 1 and step == 3:
        sys.exit()
    comm.allreduce(step)
