"""Rank 1 waits for a message before the fence that the others have reached."""

# Kind: receive-without-send
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
window = MPI.Win.Allocate(8, comm=comm)
if rank == 1:
    comm.recv(source=0)
window.Fence()
