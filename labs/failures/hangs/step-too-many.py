"""Rank 0 makes one step more than the others."""

# Kind: ended
# Ranks: 1, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
steps = 10 + (rank == 0)
for step in range(steps):
    comm.allreduce(step)
