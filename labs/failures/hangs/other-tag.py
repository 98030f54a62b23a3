"""Rank 0 sends with tag 1, rank 1 receives tag 2."""

# Kind: tag-mismatch
# Ranks: 0, 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.send("data", dest=1, tag=1)
elif rank == 1:
    comm.recv(source=0, tag=2)
