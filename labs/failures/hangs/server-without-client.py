"""Rank 0 listens for a connection that nobody makes."""

# Kind: pipe
# Ranks: 0
# Ranks to start: 3

import socket

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
if rank == 0:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.accept()
comm.Barrier()
