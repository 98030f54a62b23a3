"""Rank 0 takes rank 1 for the root of the broadcast, the others take rank 0."""

# Kind: other-root
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
comm.bcast("settings", root=1 if rank == 0 else 0)
