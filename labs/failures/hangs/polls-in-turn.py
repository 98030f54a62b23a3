"""Rank 0 asks, then tests a barrier and probes in turn; rank 1 probes for another message, which nobody sends."""

# Kind: probe
# Ranks: 1
# Ranks to start: 2
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank

if rank == 0:
    comm.send("question", dest=1, tag=1)
else:
    while not comm.iprobe(source=0, tag=2):
        time.sleep(0.001)
request = comm.Ibarrier()
while not request.Test():
    comm.iprobe(tag=1)
    time.sleep(0.001)
