"""Rank 1 waits for a process that waits for a task."""

# Kind: lock
# Ranks: 1
# Ranks to start: 3

import multiprocessing

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    context = multiprocessing.get_context("fork")
    tasks = context.Queue()
    process = context.Process(target=tasks.get, daemon=True)
    process.start()
    process.join()
comm.Barrier()
