"""All ranks of a ring send synchronously to the right before they receive."""

# Kind: circular-sends
# Ranks: 0, 1, 2
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
comm.Ssend(np.ones(1), dest=(rank + 1) % comm.size)
comm.Recv(np.empty(1), source=(rank - 1) % comm.size)
