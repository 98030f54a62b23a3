"""Rank 1 probes for a message that rank 0 never sends."""

# Kind: probe
# Ranks: 0, 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 1:
    comm.Probe(source=0)
    comm.recv(source=0)
