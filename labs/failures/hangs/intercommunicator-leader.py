"""Rank 1 waits for a message before it makes the intercommunicator."""

# Kind: missing-from-collective
# Ranks: 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
own = comm.Split(rank)
if rank == 1:
    comm.recv(source=0, tag=5)
bridge = own.Create_intercomm(0, comm, 1 - rank)
