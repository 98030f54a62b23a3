"""Rank 2 doesn't open the file that all ranks should open together."""

# Kind: ended
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank < 2:
    MPI.File.Open(comm, "/dev/null", MPI.MODE_RDONLY)
