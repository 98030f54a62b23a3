"""Rank 0 sends to rank 1, which waits for rank 2, which sends to rank 0."""

# Kind: circular-wait
# Ranks: 0, 1, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    comm.recv(source=2)
else:
    comm.ssend(rank, dest=(rank + 1) % comm.size)
