"""One side of an intercommunicator calls the barrier, the other side ends."""

# Kind: ended
# Ranks: 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
own = comm.Split(rank)
bridge = own.Create_intercomm(0, comm, 1 - rank)
if rank == 0:
    bridge.Barrier()
