"""Rank 0 waits for a program that writes into a pipe late."""

# Ranks to start: 3

import subprocess

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
line = None
if rank == 0:
    line = subprocess.run(["sh", "-c", "sleep 4; echo data"], capture_output=True).stdout
comm.bcast(line)
