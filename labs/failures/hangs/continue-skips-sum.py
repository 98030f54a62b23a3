"""Rank 1 skips a batch with continue, and with it one of the sums."""

# Kind: ended
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
for batch in range(5):
    if rank == 1 and batch == 3:
        continue
    comm.allreduce(batch)
