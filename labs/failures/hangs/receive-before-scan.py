"""Rank 0 waits for a message of rank 2, which is in the scan already."""

# Kind: receive-without-send
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.recv(source=2, tag=5)
comm.exscan(rank)
comm.scan(rank)
