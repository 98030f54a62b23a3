"""Rank 0 counts steps from 0, rank 1 counts from 1, and the step is the tag."""

# Kind: tag-mismatch
# Ranks: 0, 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
for step in range(3):
    if rank == 0:
        comm.send(step, dest=1, tag=step)
    elif rank == 1:
        comm.recv(source=0, tag=step + 1)
