"""Rank 1 polls for a message that comes only after the all-to-all."""

# Kind: probe
# Ranks: 1
# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
while rank == 1 and not comm.iprobe(source=0, tag=3):
    time.sleep(0.01)
comm.alltoall(range(3))
if rank == 0:
    comm.send("done", dest=1, tag=3)
