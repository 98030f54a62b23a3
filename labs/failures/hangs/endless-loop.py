"""Rank 1 computes without an end."""

# Kind: computing
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
number = 1.0
while rank == 1 and number > 0:
    number = 2.0
comm.Barrier()
