"""A signal has stopped rank 1."""

# Kind: stopped
# Ranks: 1
# Ranks to start: 3

import os
import signal

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
comm.Barrier()
