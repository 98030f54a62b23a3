"""Rank 1 waits for a message before it calls Dup, and rank 0 sends it only after Dup."""

# Kind: receive-without-send
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    comm.recv(source=0)
twin = comm.Dup()
if rank == 0:
    comm.send("start", dest=1)
