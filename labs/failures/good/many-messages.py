"""Thousands of small messages go around a ring."""

# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
token = rank
for _ in range(3000):
    token = comm.sendrecv(token, dest=(rank + 1) % comm.size, source=(rank - 1) % comm.size)
