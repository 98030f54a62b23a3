"""Rank 2 is rank 1 in its part; rank 1 takes the number of COMM_WORLD and receives from itself."""

# Kind: wrong-peer
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
part = comm.Split(color=min(rank, 1))
if rank == 2:
    part.recv(source=1)
