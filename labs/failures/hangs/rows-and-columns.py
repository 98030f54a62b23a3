"""In a grid of four, each rank waits in its row or its column for the next one."""

# Kind: other-communicator
# Ranks: 0, 1, 2, 3
# Ranks to start: 4

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
row, column = comm.Split(rank // 2), comm.Split(rank % 2)
for part in (row, column) if rank in (0, 3) else (column, row):
    part.Barrier()
