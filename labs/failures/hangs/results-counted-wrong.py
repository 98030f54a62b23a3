"""The master waits for a fifth result from anyone, and the workers send four."""

# Kind: receive-without-send
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    results = [comm.recv(source=MPI.ANY_SOURCE) for _ in range(5)]
else:
    comm.send(rank, dest=0)
    comm.send(-rank, dest=0)
