"""Rank 2 has no file to read."""

# Kind: raised
# Ranks: 2
# Ranks to start: 3

from pathlib import Path

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 2:
    Path("/no/such/file").read_text()
comm.allreduce(1)
