"""Both ranks receive before they send."""

# Kind: circular-receives
# Ranks: 0, 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
comm.recv(source=1 - rank)
comm.send(rank, dest=1 - rank)
