"""Rank 0 keeps a record of a file locked while it waits for rank 1."""

# Kind: file-lock
# Ranks: 1
# Ranks to start: 2

import fcntl
import os
import tempfile

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
path = comm.bcast(tempfile.mkstemp()[1] if rank == 0 else None)
with open(path, "r+") as file:
    comm.Barrier()
    if rank == 0:
        os.remove(path)
        fcntl.lockf(file, fcntl.LOCK_EX)
    comm.Barrier()
    if rank == 1:
        fcntl.lockf(file, fcntl.LOCK_EX)
    comm.Barrier()
