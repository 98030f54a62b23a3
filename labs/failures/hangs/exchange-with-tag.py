"""Rank 1 receives another tag in Sendrecv than rank 0 sends."""

# Kind: tag-mismatch
# Ranks: 0, 1
# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
left, right = (rank - 1) % comm.size, (rank + 1) % comm.size
comm.sendrecv(rank, dest=right, sendtag=7, source=left, recvtag=8 if rank == 1 else 7)
