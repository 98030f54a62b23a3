"""Rank 0 calls the barriers of two communicators in another order than rank 1."""

# Kind: other-communicator
# Ranks: 0, 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
first, second = comm.Dup(), comm.Dup()
for part in (first, second) if rank == 0 else (second, first):
    part.Barrier()
