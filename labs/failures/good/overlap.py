"""Ranks compute while their large messages are on the way."""

# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
for _ in range(20):
    data = np.empty(300_000)
    requests = [comm.Irecv(data, (rank - 1) % comm.size), comm.Isend(np.ones(300_000), (rank + 1) % comm.size)]
    np.sort(np.random.default_rng(rank).random(100_000))
    MPI.Request.Waitall(requests)
