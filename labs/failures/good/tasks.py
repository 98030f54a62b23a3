"""Workers ask the master for tasks until it tells them to stop."""

# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    tasks = [*range(40), *[None] * (comm.size - 1)]
    for task in tasks:
        worker = comm.recv(source=MPI.ANY_SOURCE)
        comm.send(task, dest=worker)
else:
    comm.send(rank, dest=0)
    while (task := comm.recv(source=0)) is not None:
        comm.send(rank, dest=0)
