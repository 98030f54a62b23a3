"""Rank 0 gathers in its branch while the others are in an all-gather."""

# Kind: other-collective
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    print(comm.gather(rank), flush=True)
else:
    comm.allgather(rank)
