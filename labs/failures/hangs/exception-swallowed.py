"""Rank 1 catches its exception and misses the sum; then it is in the barrier, the others in the sum."""

# Kind: other-collective
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
try:
    share = 6 // (rank - 1)
    comm.allreduce(share)
except ZeroDivisionError:
    print("no share on rank", rank, flush=True)
comm.Barrier()
