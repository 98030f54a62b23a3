"""Rank 1 receives four messages, and rank 0 sends three."""

# Kind: receive-without-send
# Ranks: 0, 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
for _ in range(3 + rank):
    if rank == 0:
        comm.send("row", dest=1)
    else:
        comm.recv(source=0)
