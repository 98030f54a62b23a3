"""Rank 0 has sent to rank 2, which receives from rank 1."""

# Kind: wrong-peer
# Ranks: 0, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.send("data", dest=2)
elif rank == 2:
    comm.recv(source=1)
