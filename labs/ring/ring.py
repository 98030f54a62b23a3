"""Add up the arrays of all ranks in three ways, and compare the measured times with a model of two numbers.

    mpirun -n 2 python labs/ring/ring.py      two ranks
    python labs/ring/ring.py                  one process, which has nothing to exchange

Four ranks on two cores take turns. With this variable a waiting rank gives its core away:

    OMPI_MCA_mpi_yield_when_idle=1 mpirun -n 4 --oversubscribe python labs/ring/ring.py

Read it from top to bottom. Every rank runs all of it.
"""

import argparse
import os
import statistics
import sys
import time

if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}

import numpy as np
from mpi4py import MPI


# 1. The ring. Each rank sends to its right neighbour and receives from its left neighbour, 2 (n - 1) times.
def ring(comm, values):
    """Replace `values` by the sum over all ranks."""
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    ends = [len(values) * number // size for number in range(size + 1)]  # as np.array_split, but faster
    chunks = [values[ends[number] : ends[number + 1]] for number in range(size)]  # views: they share the memory
    arrived = np.empty(-(-len(values) // size), values.dtype)  # as long as the longest chunk
    for step in range(size - 1):  # reduce-scatter: add what arrives
        chunk = chunks[(rank - step - 1) % size]
        comm.Sendrecv(chunks[(rank - step) % size], dest=right, recvbuf=arrived[: len(chunk)], source=left)
        chunk += arrived[: len(chunk)]
    for step in range(size - 1):  # all-gather: keep what arrives
        comm.Sendrecv(chunks[(rank - step + 1) % size], dest=right, recvbuf=chunks[(rank - step) % size], source=left)


# 2. The tree. Arrays go up to rank 0 in log2(n) rounds, and the sum comes down in as many.
def tree(comm, values):
    """Replace `values` by the sum over all ranks."""
    rank, size = comm.Get_rank(), comm.Get_size()
    arrived = np.empty_like(values)
    distance = 1
    while distance < size and rank % (2 * distance) == 0:  # up: this rank collects from its children
        if rank + distance < size:
            comm.Recv(arrived, source=rank + distance)
            values += arrived
        distance *= 2
    if rank:  # its parent has all bits of this rank but the lowest one
        comm.Send(values, dest=rank - distance)
        comm.Recv(values, source=rank - distance)
    while distance > 1:  # down: the farthest child first
        distance //= 2
        if rank + distance < size:
            comm.Send(values, dest=rank + distance)


# 3. The parameter server. Rank 0 receives all arrays and sends the sum to each of the other ranks.
def server(comm, values):
    """Replace `values` by the sum over all ranks."""
    rank, size = comm.Get_rank(), comm.Get_size()
    if rank:
        comm.Send(values, dest=0)
        comm.Recv(values, source=0)
        return
    arrived = np.empty_like(values)
    for worker in range(1, size):
        comm.Recv(arrived, source=worker)
        values += arrived
    for worker in range(1, size):
        comm.Send(values, dest=worker)


# 4. The model: a message of b bytes takes alpha + beta b seconds. Additions are free, and no rank waits for a core.
def model(algorithm, size, length, alpha, beta):
    """Seconds of an all-reduce of `length` bytes on `size` ranks."""
    if algorithm == "ring":
        return 2 * (size - 1) * (alpha + beta * length / size)
    rounds = (size - 1).bit_length() if algorithm == "tree" else size - 1  # log2, rounded up
    return 2 * rounds * (alpha + beta * length)


# 5. Alpha and beta, from messages between ranks 0 and 1 that go to and fro. The other ranks wait.
def ping_pong(comm, lengths, repeats):
    """Median seconds of one message of each length, on all ranks."""
    rank, medians = comm.Get_rank(), []
    for length in lengths:
        message, times = np.zeros(length, np.uint8), []
        comm.Barrier()
        for _ in range(repeats if rank < 2 else 0):
            began = time.perf_counter()
            if rank == 0:
                comm.Send(message, dest=1)
                comm.Recv(message, source=1)
            else:
                comm.Recv(message, source=0)
                comm.Send(message, dest=0)
            times.append((time.perf_counter() - began) / 2)
        medians.append(comm.bcast(statistics.median(times[1:]) if rank == 0 else None))
    return medians


def fit(lengths, seconds):
    """Alpha and beta of the line that is nearest to the times. Each size counts by its relative error."""
    beta, alpha = np.polyfit(lengths, seconds, 1, w=1 / np.array(seconds))
    return max(alpha, 0.0), max(beta, 0.0)


# 6. The measurement. The slowest rank of each repeat counts, and the median of the repeats.
def measured(comm, algorithm, count, repeats):
    """Median seconds of an all-reduce of `count` numbers. Ends all ranks if a sum is wrong."""
    rank, size = comm.Get_rank(), comm.Get_size()
    start = np.arange(count, dtype=np.float32) % 8 + rank
    expected = size * (np.arange(count, dtype=np.float32) % 8) + size * (size - 1) / 2
    times = []
    for _ in range(repeats + 1):
        values = start.copy()
        comm.Barrier()
        began = time.perf_counter()
        algorithm(comm, values)
        times.append(comm.allreduce(time.perf_counter() - began, op=MPI.MAX))
        if not comm.allreduce(np.array_equal(values, expected), op=MPI.LAND):
            if rank == 0:
                print(f"{algorithm.__name__} has a wrong sum of {count} numbers.", file=sys.stderr, flush=True)
            sys.exit(1)
    return statistics.median(times[1:])  # the first one also wakes the ranks up


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smallest", type=int, default=1 << 10, help="bytes (default: %(default)s)")
    parser.add_argument("--largest", type=int, default=1 << 24, help="bytes (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=25, help="of each size (default: %(default)s)")
    options = parser.parse_args()
    if not 4 <= options.smallest <= options.largest <= 1 << 26:
        parser.error("--smallest and --largest should be from 4 to 67108864, the smallest first")
    if not 1 <= options.repeats <= 1000:
        parser.error("--repeats should be from 1 to 1000")
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    if size == 1:
        for algorithm in (ring, tree, server):
            measured(comm, algorithm, options.smallest // 4, 1)
        print("One rank has nothing to exchange. Start several: mpirun -n 2 python labs/ring/ring.py")
        return
    lengths = [options.smallest]
    while lengths[-1] * 4 <= options.largest:
        lengths.append(lengths[-1] * 4)
    alpha, beta = fit(lengths, ping_pong(comm, lengths, 4 * options.repeats))
    if rank == 0:
        cores = len(os.sched_getaffinity(0))
        print(f"{size} ranks, {cores} processing units for rank 0; fit: alpha {1e6 * alpha:.1f} us,", end=" ")
        print(f"1/beta {1e-9 / beta:.1f} GB/s" if beta else "beta too small to fit")
        heads = [f"{name} {what}" for name in ("ring", "tree", "server") for what in ("us", "model")]
        print(f"{'bytes':>10}", *(f"{head:>13}" for head in heads), flush=True)
    for length in lengths:
        row = []
        for algorithm in (ring, tree, server):
            seconds = measured(comm, algorithm, length // 4, options.repeats)
            row += [1e6 * seconds, 1e6 * model(algorithm.__name__, size, length, alpha, beta)]
        if rank == 0:
            print(f"{length:>10}", *(f"{number:>13.1f}" for number in row), flush=True)


if __name__ == "__main__":
    main()
