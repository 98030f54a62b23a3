"""Rank 0 writes a file for long, and the others wait."""

# Ranks to start: 3

import os
import tempfile

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    with tempfile.TemporaryFile() as file:
        for _ in range(20):
            file.write(bytes(2_000_000))
            os.fsync(file.fileno())
comm.Barrier()
