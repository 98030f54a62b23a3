"""Rank 0 takes rank 1's message with ANY_SOURCE, then waits for rank 1 while rank 2's is there."""

# Kind: wrong-peer
# Ranks: 0, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.recv(source=MPI.ANY_SOURCE)
    comm.recv(source=1)
elif rank == 1:
    comm.send("first", dest=0)
    comm.send("go", dest=2)
else:
    comm.recv(source=1)
    comm.send("second", dest=0)
