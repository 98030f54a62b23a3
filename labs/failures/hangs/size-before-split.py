"""Only two of three ranks call Split."""

# Kind: ended
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank < 2:
    comm.Split(color=rank)
