"""Rank 1 receives from itself."""

# Kind: wrong-peer
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    comm.recv(source=rank)
