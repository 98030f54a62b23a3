"""Ranks import a large library, one of them late."""

# Ranks to start: 3

import importlib
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
time.sleep(3 * (rank == 0))
stats = importlib.import_module("scipy.stats")
comm.allreduce(float(stats.norm.cdf(rank)))
