"""Neighbours exchange with persistent requests."""

# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
data = np.zeros(4)
send = comm.Send_init(np.ones(4), (rank + 1) % comm.size)
receive = comm.Recv_init(data, (rank - 1) % comm.size)
for _ in range(200):
    MPI.Prequest.Startall([receive, send])
    MPI.Request.Waitall([receive, send])
