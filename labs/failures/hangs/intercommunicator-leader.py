"""Rank 1 waits for a message of rank 0, which sends none and waits for the intercommunicator."""

# Kind: receive-without-send
# Ranks: 0, 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
own = comm.Split(rank)
if rank == 1:
    comm.recv(source=0, tag=5)
bridge = own.Create_intercomm(0, comm, 1 - rank)
