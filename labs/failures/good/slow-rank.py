"""Rank 1 sleeps while the others wait in a sum."""

# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
time.sleep(4 * (rank == 1))
comm.allreduce(rank)
