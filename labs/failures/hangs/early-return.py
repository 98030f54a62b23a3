"""A function returns early on a rank without data, so the rank misses the sum."""

# Kind: ended
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank


def total(items):
    if not items:
        return 0
    return comm.allreduce(sum(items))


total([[1, 2], [3], []][rank])
