"""Rank 0 alone calls a barrier, in a branch."""

# Kind: ended
# Ranks: 1, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    print("saved", flush=True)
    comm.Barrier()
