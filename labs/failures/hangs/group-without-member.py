"""Rank 2 is in the group, but doesn't call Create_group."""

# Kind: ended
# Ranks: 2
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
group = comm.group.Incl([0, 2])
if rank == 0:
    comm.Create_group(group)
