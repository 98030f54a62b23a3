"""Rank 0 calls sys.exit before it sends."""

# Kind: ended
# Ranks: 0
# Ranks to start: 2

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    sys.exit(0)
comm.recv(source=0)
