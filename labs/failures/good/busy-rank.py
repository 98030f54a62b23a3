"""Rank 0 computes while the others wait for its broadcast."""

# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
until = time.monotonic() + 4 * (rank == 0)
number = 1.0
while time.monotonic() < until:
    number = number * 1.0000001 % 7
comm.bcast(number)
