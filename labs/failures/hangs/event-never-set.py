"""Rank 0 waits for an event that its thread never sets."""

# Kind: lock
# Ranks: 0
# Ranks to start: 3

import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
loaded = threading.Event()
if rank == 0:
    loaded.wait()
comm.bcast("data")
