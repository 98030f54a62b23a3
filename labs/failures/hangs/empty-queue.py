"""Rank 1 takes an item from a queue into which nobody puts one."""

# Kind: lock
# Ranks: 1
# Ranks to start: 3

import queue

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
items = queue.Queue()
if rank == 1:
    items.get()
comm.Barrier()
