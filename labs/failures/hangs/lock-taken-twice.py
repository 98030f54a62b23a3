"""Rank 1 takes a lock that it holds already."""

# Kind: lock
# Ranks: 1
# Ranks to start: 3

import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
lock = threading.Lock()


def count():
    with lock:
        return 1


if rank == 1:
    with lock:
        count()
comm.Barrier()
