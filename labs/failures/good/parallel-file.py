"""Two of three ranks write a file together, again and again."""

# Ranks to start: 3

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
part = comm.Split(0 if rank < 2 else MPI.UNDEFINED)
if rank < 2:
    file = MPI.File.Open(part, "work.dat", MPI.MODE_CREATE | MPI.MODE_WRONLY | MPI.MODE_DELETE_ON_CLOSE)
    for block in range(10):
        file.Write_at_all((2 * block + rank) * 1_000_000, bytes(1_000_000))
        file.Sync()
    file.Close()
