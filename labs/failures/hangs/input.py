"""Rank 0 waits for input that nobody types."""

# Kind: input
# Ranks: 0
# Ranks to start: 3

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    name = sys.stdin.readline()
comm.Barrier()
