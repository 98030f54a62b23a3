"""Rank 0 sends to itself synchronously before it receives."""

# Kind: wrong-peer
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.ssend("data", dest=0)
    comm.recv(source=0)
