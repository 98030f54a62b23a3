"""Rank 1 calls the barrier before the sum, the others call it after the sum."""

# Kind: other-collective
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    comm.Barrier()
    comm.allreduce(1)
else:
    comm.allreduce(1)
    comm.Barrier()
