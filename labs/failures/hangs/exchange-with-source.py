"""Rank 0 has another source in Sendrecv than the rank that sends to it."""

# Kind: wrong-peer
# Ranks: 0, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
left, right = (rank - 1) % comm.size, (rank + 1) % comm.size
comm.sendrecv(rank, dest=right, source=right if rank == 0 else left)
