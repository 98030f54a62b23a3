"""Rank 1 waits for an event with a limit of time, then goes on without it."""

# Ranks to start: 3

import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    threading.Event().wait(4)
comm.Barrier()
