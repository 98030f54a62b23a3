"""Rank 1 waits for its thread, which works, and the others wait for rank 1."""

# Ranks to start: 3

import threading
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    thread = threading.Thread(target=time.sleep, args=(4,))
    thread.start()
    thread.join()
comm.Barrier()
