"""A training loop without a model: four faults with which it hangs, and a version that ends.

    mpirun -n 2 python labs/faults/hangs.py                   no fault
    mpirun -n 2 python labs/faults/hangs.py message           a message that nobody receives
    mpirun -n 2 python labs/faults/hangs.py collective        rank 0 alone calls a collective
    mpirun -n 2 python labs/faults/hangs.py exception         a rank raises an exception
    mpirun -n 2 python labs/faults/hangs.py batches           a rank has a batch less than the others

A fault waits for ever. Ctrl-C ends it, and so does `workshop watch --after 2 --end -- mpirun -n 2 python ...`, which
also says why the ranks wait. Under `mpirun -n 2 python -m mpi4py labs/faults/hangs.py exception`, all ranks end.
"""

import argparse
import os
import sys

if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # a rank that waits gives its core away

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "fault",
    nargs="?",
    default="none",
    choices=["none", "message", "collective", "exception", "batches"],
    help="the fault (default: %(default)s)",
)
parser.add_argument("--steps", type=int, default=3, help="steps of the loop (default: %(default)s)")
parser.add_argument("--numbers", type=int, default=100_000, help="numbers of a message (default: %(default)s)")
options = parser.parse_args()
if not 1 <= options.steps <= 1000:
    parser.error("--steps should be from 1 to 1000")
if not 1 <= options.numbers <= 10_000_000:
    parser.error("--numbers should be from 1 to 10000000")

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
last = size - 1
if size == 1 and options.fault != "none":
    parser.error("a fault needs two ranks: start the script with mpirun -n 2")


# 1. The parts of a step. Each rank has its own gradients; the mean is the same on all ranks.
def gradients(step):
    """The gradients of this rank, which differ from rank to rank."""
    return np.full(options.numbers, float(rank + step))


def mean(values):
    """The mean over all ranks."""
    total = np.empty_like(values)
    comm.Allreduce(values, total)
    return total / size


# 2. Fault "message": rank 0 sends its gradients to the last rank, which has no line for them. MPI may keep a short
#    message and let the sender go on. A long message waits for its receiver.
def report_to_last(values):
    """Send the gradients of rank 0 to the last rank."""
    if rank == 0:
        comm.Send(values, dest=last)


# 3. Fault "collective": rank 0 wants to print the largest number. The other ranks have no line for it.
def print_largest(values):
    """Print the largest number of all ranks."""
    if rank == 0:
        print("largest:", max(comm.gather(values.max(), root=0)), flush=True)


# 4. Fault "exception": the last rank can't read its data.
def read_data(step):
    """Read the data of a step."""
    if rank == last:
        raise ValueError(f"rank {rank} can't read the data of step {step}")


# 5. The loop. A fault comes in the last step, because most hangs don't come at the start.
#    Fault "batches": the last rank has a batch less, so it makes one call less.
batches = options.steps - (options.fault == "batches" and rank == last)
averages = []
for step in range(batches):
    faulty = step == options.steps - 1
    if faulty and options.fault == "exception":
        read_data(step)
    values = gradients(step)
    if faulty and options.fault == "message":
        report_to_last(values)
    if faulty and options.fault == "collective":
        print_largest(values)
    averages.append(mean(values)[0])
    if rank == 0:
        print(f"step {step}: mean gradient {averages[-1]:.2f}", flush=True)
comm.Barrier()

# 6. Are the numbers right? Each rank can work them out by itself.
expected = [last / 2 + step for step in range(options.steps)]
if not np.allclose(averages, expected):
    print(f"Rank {rank} has wrong means; the last one should be {expected[-1]:.2f}.", file=sys.stderr, flush=True)
    comm.Abort(1)
if rank == 0:
    print(f"{size} rank{'s' if size > 1 else ''}, {options.steps} steps: right", flush=True)
