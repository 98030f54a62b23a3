"""Rank 0 waits for a synchronous nonblocking send, and rank 1 doesn't receive."""

# Kind: wait-for-request
# Ranks: 0, 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.issend("data", dest=1).wait()
