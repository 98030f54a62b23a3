"""A large message waits for its receive; a small one would have been taken."""

# Kind: send-without-receive
# Ranks: 0, 1
# Ranks to start: 3

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    comm.Send(np.ones(1_000_000), dest=1)
