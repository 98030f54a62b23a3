"""Rank 1 waits for a message, and rank 0 has none for it."""

# Kind: receive-without-send
# Ranks: 0, 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    comm.recv(source=0)
