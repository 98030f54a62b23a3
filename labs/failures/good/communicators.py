"""Ranks meet in parts and copies of the communicator in the order that each part needs."""

# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
part, twin = comm.Split(rank % 2, rank), comm.Dup()
for _ in range(50):
    part.Barrier()
    twin.allreduce(rank)
    if rank == 0:
        comm.send("data", dest=1, tag=9)
    elif rank == 1:
        comm.recv(source=0, tag=9)
part.Free()
