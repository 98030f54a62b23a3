"""Rank 0 waits for two receives, and only rank 1 has sent."""

# Kind: wait-for-request
# Ranks: 0, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    requests = [comm.irecv(source=source) for source in (1, 2)]
    MPI.Request.waitall(requests)
elif rank == 1:
    comm.send("data", dest=0)
