"""Compute pi on several ranks: each adds up its own strips of an area, and an all-reduce puts the parts together.

    mpirun -n 2 python labs/first/pi.py       two ranks, each with half of the strips
    python labs/first/pi.py                   the same in one process

Read it from top to bottom. Every rank runs all of it, and the ranks differ only in their number.
"""

import argparse
import math
import os
import socket
import sys
import time

if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}

from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--strips", type=int, default=2_000_000, help="strips of the area (default: %(default)s)")
options = parser.parse_args()
if not 1 <= options.strips <= 1_000_000_000:
    parser.error("--strips should be from 1 to 1000000000")
strips = options.strips

# 1. Who am I? Two numbers are all that a rank needs to find its part.
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def say(*words):
    """Print once, not once per rank."""
    if rank == 0:
        print(*words, flush=True)


# 2. Where am I? Every rank asks the operating system; rank 0 gathers the answers, so that the lines don't mix.
places = comm.gather(f"on {socket.gethostname()}, process {os.getpid()}, units {sorted(os.sched_getaffinity(0))}")
for number, place in enumerate(places or []):  # the others have been given None
    say(f"rank {number} of {size} {place}")

# 3. What is mine? Strips are dealt out like cards: rank, rank + size, rank + 2 size, ... Each has one owner.
mine = range(rank, strips, size)

# 4. Compute my part: the area under 4 / (1 + x^2), each strip as high as the curve in its middle.
comm.Barrier()  # all begin together, so that the clock measures the work
began = time.perf_counter()
part = math.fsum(4 / (1 + ((strip + 0.5) / strips) ** 2) for strip in mine) / strips

# 5. Put the parts together. Every rank calls it, and every rank gets the sum.
pi = comm.allreduce(part)
seconds = time.perf_counter() - began

# 6. One rank reports, and it tells the time of the slowest.
slowest = comm.reduce(seconds, op=MPI.MAX)
if rank == 0:
    say(f"pi is about {pi:.12f}, strips: {strips}, ranks: {size}, {slowest:.3f} s")

# Is it right? Every strip was counted once, all ranks have the same number, and it is close to pi: strips of this
# width are off by less than their width squared, and adding up rounds a little.
counted = comm.allreduce(len(mine))
everybodys = comm.allgather(pi)
off = abs(pi - math.pi)
wrong = None
if counted != strips:
    wrong = f"{counted} strips were counted, there are {strips}."
elif any(one != everybodys[0] for one in everybodys):
    wrong = f"The ranks have different sums: {everybodys}."
elif off > 1 / strips**2 + 1e-12:
    wrong = f"The sum is off by {off:.1e}, which is more than {strips} strips explain."
if wrong:
    if rank == 0:
        print(wrong, file=sys.stderr, flush=True)
    sys.exit(1)
say(f"off by {off:.1e}: right")
