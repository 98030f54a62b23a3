"""Rank 1 finalizes MPI while the others call one more barrier."""

# Kind: missing-from-collective
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    MPI.Finalize()
else:
    comm.Barrier()
