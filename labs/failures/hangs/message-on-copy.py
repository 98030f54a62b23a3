"""Rank 0 sends on COMM_WORLD, and rank 1 receives on a copy of it."""

# Kind: other-communicator
# Ranks: 0, 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
twin = comm.Dup()
if rank == 0:
    comm.send("data", dest=1)
else:
    twin.recv(source=0)
