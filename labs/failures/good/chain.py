"""Each rank waits for the one on its left, and rank 0 comes late."""

# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    time.sleep(4)
else:
    comm.recv(source=rank - 1)
if rank + 1 < comm.size:
    comm.send(rank, dest=rank + 1)
