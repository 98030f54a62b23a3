"""Rank 1 opens a named pipe that nobody opens to write."""

# Kind: pipe
# Ranks: 1
# Ranks to start: 3

import os
import tempfile

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    path = f"{tempfile.gettempdir()}/fifo-{os.getpid()}"
    os.mkfifo(path)
    with open(path) as pipe:
        pipe.read()
comm.Barrier()
