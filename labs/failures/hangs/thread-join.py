"""Rank 1 waits for the end of a thread that waits for more work."""

# Kind: lock
# Ranks: 1
# Ranks to start: 3

import queue
import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
tasks = queue.Queue()


def work():
    while (task := tasks.get()) is not None:
        print(task, flush=True)


if rank == 1:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
comm.Barrier()
