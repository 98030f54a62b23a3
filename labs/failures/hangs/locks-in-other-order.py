"""Two threads of rank 2 take two locks in different order."""

# Kind: lock
# Ranks: 2
# Ranks to start: 3

import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)


def take(lock, other):
    with lock:
        both.wait()
        with other:
            pass


if rank == 2:
    threading.Thread(target=take, args=(first, second), daemon=True).start()
    take(second, first)
comm.Barrier()
