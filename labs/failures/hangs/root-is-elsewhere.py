"""Rank 0 waits for a message in place of scattering the data."""

# Kind: receive-without-send
# Ranks: 0
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
shares = comm.recv(source=1) if rank == 0 else None
comm.scatter(shares)
