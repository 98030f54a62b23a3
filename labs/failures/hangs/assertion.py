"""An assertion fails on rank 0, for which the others wait in a broadcast."""

# Kind: raised
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
data = [1, 2, 3] if rank == 0 else None
if rank == 0:
    assert len(data) == 4, "a row is missing"
comm.bcast(data)
