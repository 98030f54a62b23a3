"""Rank 1 reads input, which mpirun delivers to rank 0 alone."""

# Kind: raised
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    input()
comm.Barrier()
