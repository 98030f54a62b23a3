"""Rank 0 tests a barrier and probes in turn, and rank 1 probes for an answer that nobody sends."""

# Kind: probe
# Ranks: 1
# Ranks to start: 2

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    while not comm.iprobe(source=0, tag=2):
        time.sleep(0.001)
request = comm.Ibarrier()
while not request.Test():
    comm.iprobe(tag=1)
    time.sleep(0.001)
