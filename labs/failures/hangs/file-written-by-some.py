"""Rank 1 waits for a message in place of writing its part of the file."""

# Kind: receive-without-send
# Ranks: 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
file = MPI.File.Open(comm, "/dev/null", MPI.MODE_WRONLY)
if rank == 1:
    comm.recv(source=0)
file.Write_at_all(rank, b"x")
file.Close()
