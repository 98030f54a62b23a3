"""Both ranks send a large array before they receive."""

# Kind: circular-sends
# Ranks: 0, 1
# Ranks to start: 2

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
comm.Send(np.ones(1_000_000), dest=1 - rank)
comm.Recv(np.empty(1_000_000), source=1 - rank)
