"""A barrier of three threads has two."""

# Kind: lock
# Ranks: 1
# Ranks to start: 3

import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
meeting = threading.Barrier(3)
if rank == 1:
    threading.Thread(target=meeting.wait, daemon=True).start()
    meeting.wait()
comm.Barrier()
