"""Rank 2 ends without disconnecting its copy of the communicator."""

# Kind: ended
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
twin = comm.Dup()
if rank < 2:
    twin.Disconnect()
