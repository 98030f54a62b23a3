"""Rank 0 keeps a file locked in the barrier, and rank 1 wants the lock before its barrier."""

# Kind: file-lock
# Ranks: 1
# Ranks to start: 2

import fcntl

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
with open(__file__) as file:
    if rank == 1:
        comm.recv(source=0)
    fcntl.flock(file, fcntl.LOCK_EX)
    if rank == 0:
        comm.send("locked", dest=1)
    comm.Barrier()
