"""Rank 1 answers with the tag of the question, and rank 0 waits for another tag."""

# Kind: tag-mismatch
# Ranks: 0, 1
# Ranks to start: 2

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
QUESTION, ANSWER = 1, 2
if rank == 0:
    comm.send("how many?", dest=1, tag=QUESTION)
    comm.recv(source=1, tag=ANSWER)
else:
    comm.recv(source=0, tag=QUESTION)
    comm.send(42, dest=0, tag=QUESTION)
