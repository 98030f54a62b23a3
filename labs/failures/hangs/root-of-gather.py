"""Rank 1 gathers on itself, the others gather on rank 0."""

# Kind: other-root
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
comm.gather(rank, root=1 if rank == 1 else 0)
