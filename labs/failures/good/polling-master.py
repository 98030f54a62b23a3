"""The master polls for results, and one worker is slow."""

# Ranks to start: 3

import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    waiting = {1, 2}
    while waiting:
        for source in sorted(waiting):
            if comm.iprobe(source=source):
                comm.recv(source=source)
                waiting.remove(source)
        time.sleep(0.01)
else:
    time.sleep(4 * (rank == 2))
    comm.send(rank, dest=0)
