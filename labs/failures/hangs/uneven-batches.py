"""Ten batches on three ranks: rank 0 has four of them, so it calls the barrier once more."""

# Kind: ended
# Ranks: 1, 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
for _ in range(rank, 10, comm.size):
    comm.Barrier()
