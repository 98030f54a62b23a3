"""Rank 1 polls for a message that rank 0 never sends."""

# Kind: probe
# Ranks: 0, 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
while rank == 1 and not comm.iprobe(source=0):
    pass
