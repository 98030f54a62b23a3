"""The worker waits for its next task, and the master ends without telling it."""

# Kind: receive-without-send
# Ranks: 0, 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    for task in range(3):
        comm.send(task, dest=1)
        comm.recv(source=1)
else:
    while (task := comm.recv(source=0)) is not None:
        comm.send(task * task, dest=0)
