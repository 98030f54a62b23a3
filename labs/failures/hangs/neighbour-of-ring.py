"""Rank 2 receives from its right neighbour in place of the left one."""

# Kind: wrong-peer
# Ranks: 1, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
left, right = (rank - 1) % comm.size, (rank + 1) % comm.size
if rank == 2:
    left, right = right, right
comm.send(rank, dest=right)
comm.recv(source=left)
