"""All ranks say who they are."""

# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
print(rank, comm.size, flush=True)
comm.Barrier()
