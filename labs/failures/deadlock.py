"""Ranks that add up their right answers: one way that ends, and two that wait for ever.

    mpirun -n 2 python labs/failures/deadlock.py                    the mended function
    mpirun -n 2 python labs/failures/deadlock.py --broken           a rank leaves before the others have met it
    mpirun -n 2 python labs/failures/deadlock.py --broken branch    a collective that only rank 0 calls
    python labs/failures/deadlock.py --broken                       the same on one rank: nothing to see

Whatever happens, it ends: after --seconds each rank that still waits says in which line it stands, and ends with 1.
"""

import argparse
import faulthandler
import linecache
import os
import sys
import threading
import time

import numpy as np

os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # who waits leaves the core to somebody who works
if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--broken",
    nargs="?",
    const="return",
    choices=["return", "branch"],
    help="return (default): a rank without images leaves early; branch: rank 0 alone calls a collective",
)
parser.add_argument("--images", type=int, default=300, help="held-out images of all ranks (default: %(default)s)")
parser.add_argument("--seconds", type=float, default=5, help="time limit (default: %(default)s)")
options = parser.parse_args()
if not 1 <= options.images <= 1_000_000:
    parser.error("images should be from 1 to 1,000,000")
if not 1 <= options.seconds <= 600:  # neither is nan
    parser.error("seconds should be from 1 to 600")

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
PAUSE = 1.0  # seconds between the first rank's last words and its end, so that the others have theirs


# 1. Whose images are whose. The last of several ranks has none: shards that are empty happen with small data, and are
#    where this program breaks. Nothing is asked of other ranks, so everybody can work out everybody's share.
def share(one):
    """How many images rank `one` has, and how many of them it reads right."""
    holders = max(size - 1, 1)
    if one >= holders:
        return 0, 0
    images = options.images // holders + (one < options.images % holders)
    return images, int((np.random.default_rng(one).random(images) < 0.9).sum())


# 2. The function, mended. Every rank calls the same collectives in the same order, also who has nothing to add: a zero
#    counts as well. Only printing is for rank 0 alone.
def accuracy(comm, right, images):
    """The share of images that are read right, over all ranks."""
    right = comm.allreduce(right)
    images = comm.allreduce(images)
    if comm.rank == 0:
        print(f"{right} of {images} images are read right", flush=True)
    return right / images


# 3. Broken: who has no images has "nothing to do" and leaves. The others wait for it in the all-reduce.
def accuracy_return(comm, right, images):
    if images == 0:
        return 0.0
    right = comm.allreduce(right)
    images = comm.allreduce(images)
    return right / images


# 4. Broken: the second sum is "only for printing", so only rank 0 asks for it. It waits for the others, which have gone
#    on to the next collective and wait there for rank 0.
def accuracy_branch(comm, right, images):
    right = comm.allreduce(right)
    if comm.rank == 0:
        seen = comm.allreduce(images)
        print(f"{right} of {seen} images are read right", flush=True)
    return right / options.images


# 5. A limit of its own. MPI has none: a rank may be late for as long as it likes. So a second thread looks at the
#    clock; it can, since mpi4py lets go of Python's lock while it waits. Should that fail, faulthandler ends it.
done = threading.Event()


def watch():
    if done.wait(options.seconds):
        return
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame.f_back and frame.f_code.co_filename != __file__:
        frame = frame.f_back  # out of a library, to our own line
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    print(f"rank {rank} still stands in line {frame.f_lineno}: {line}", file=sys.stderr, flush=True)
    time.sleep(PAUSE)
    os._exit(1)  # the launcher sees that a rank has ended, and ends the others


faulthandler.dump_traceback_later(options.seconds + PAUSE + 5, exit=True)
threading.Thread(target=watch, daemon=True).start()

# 6. Run it. All ranks meet before, so that starting them isn't part of the story, and behind it.
FUNCTIONS = {None: accuracy, "return": accuracy_return, "branch": accuracy_branch}
everybody = comm.allreduce(1)
images, right = share(rank)
began = time.perf_counter()
found = FUNCTIONS[options.broken](comm, right, images)
comm.Barrier()
took = time.perf_counter() - began

# 7. Is it right? What all ranks have, each of them can count by itself here.
shares = [share(one) for one in range(size)]
expected = sum(hits for _, hits in shares) / sum(count for count, _ in shares)
agree = comm.allgather(found == expected)
done.set()
faulthandler.cancel_dump_traceback_later()
if rank == 0:
    ranks = f"{everybody} rank{'s' if everybody > 1 else ''}"
    print(f"{ranks}: accuracy {found:.4f}, expected {expected:.4f}, after {took:.3f} s", flush=True)
if not all(agree):
    sys.exit(f"rank {rank} has {found:.4f}, expected {expected:.4f}" if found != expected else 1)
