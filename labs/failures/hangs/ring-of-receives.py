"""All ranks of a ring receive from the left before they send to the right."""

# Kind: circular-receives
# Ranks: 0, 1, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
token = comm.recv(source=(rank - 1) % comm.size)
comm.send(token, dest=(rank + 1) % comm.size)
