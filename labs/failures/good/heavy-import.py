"""Ranks import a large library, one of them late."""

# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
time.sleep(3 * (rank == 0))
from scipy import stats  # noqa: E402  # late on purpose

comm.allreduce(float(stats.norm.cdf(rank)))
