"""Two ranks wait for the request of a barrier, and rank 2 receives before it calls it."""

# Kind: receive-without-send
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 2:
    comm.recv(source=0)
comm.Ibarrier().Wait()
