"""Rank 0 has an item too many to scatter, so its call raises an exception and the others wait."""

# Kind: raised
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
shares = list(range(comm.size + 1)) if rank == 0 else None
print(comm.scatter(shares))
