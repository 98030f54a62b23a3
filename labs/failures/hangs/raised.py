"""Rank 1 raises an exception, and Python's end waits for the others in MPI."""

# Kind: raised
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    raise ValueError("no data")
comm.Barrier()
