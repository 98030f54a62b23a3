"""Ranks lock a file in turns, for a second each."""

# Ranks to start: 3

import fcntl
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
with open(__file__) as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep(1.2)
    fcntl.flock(file, fcntl.LOCK_UN)
comm.Barrier()
