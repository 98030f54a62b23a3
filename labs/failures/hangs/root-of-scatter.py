"""Rank 2 waits for a share from rank 1, and rank 0 has the shares."""

# Kind: other-root
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
shares = [10, 20, 30] if rank == 0 else None
comm.scatter(shares, root=1 if rank == 2 else 0)
