"""In the part of ranks 1 and 2, rank 2 sums while rank 1 is in the barrier."""

# Kind: other-collective
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
part = comm.Split(color=min(rank, 1))
if rank == 1:
    part.Barrier()
elif rank == 2:
    part.allreduce(1)
