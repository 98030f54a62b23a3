"""Rank 1 waits for a child that reads from a pipe into which nobody writes."""

# Kind: pipe
# Ranks: 1
# Ranks to start: 3

import os
import subprocess

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    reader, writer = os.pipe()
    subprocess.run(["cat"], stdin=reader)
comm.Barrier()
