"""The operations of the OSU micro-benchmarks with mpi4py: their buffers, one call of each, and its time.

Times are counted as there (osu_latency.c, osu_bw.c, osu_bibw.c, osu_allreduce.c and others, version 7): a latency is
half a round trip; a bandwidth has 64 messages on the way, then one acknowledgement; a collective's time is each rank's
mean over the iterations, of which the mean, the lowest and the highest over ranks count. Unlike there, iterations are
in five parts, of which the quickest counts. Every call goes through mpi4py, which adds some tenths of a microsecond.

Measured operations as tables in the form of the OSU micro-benchmarks. Doesn't load MPI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.engine import message_counts
from workshop.workloads.allreduce import NUMBER, PAIRS

WINDOW = 64  # messages on the way
SMALL = 8192  # bytes of the largest message that gets `MOST_ITERATIONS` iterations, as in OSU's benchmarks
MOST_ITERATIONS = 1000  # iterations
PARTS = 5  # of the iterations; other programs seldom disturb all of them
WARM_UP = 3  # calls before any counts
PATTERN = 4096  # numbers, which are repeated
IDLE = 0.001  # s between two looks of a rank that takes no part: in MPI it would keep a core busy
MESSAGES = {"latency": 2, "bandwidth": WINDOW, "bidirectional": 2 * WINDOW}  # of one call, by operation
STREAM = 10  # times fewer iterations of a call with a window of messages, as in OSU's benchmarks
Floats = NDArray[np.float32]
Call = Callable[[], Any]


class Timing(NamedTuple):
    """Seconds of an operation, of one message where several are on the way: mean, lowest and highest over ranks, in the
    quickest part of the iterations; and how many times as long the slowest part took."""

    mean: float
    low: float
    high: float
    spread: float
    iterations: int


def lengths(name: str, size: int, rank: int, ranks: int) -> tuple[int, int]:
    """How many float32 a rank sends and receives in an operation of `size` bytes."""
    count = size // NUMBER
    part = count // ranks + (rank < count % ranks)  # of a reduce-scatter; parts differ by one at most
    by_name = {
        "bcast": (count, 0),
        "allgather": (count, count * ranks),
        "reduce_scatter": (count, part),
        "alltoall": (count * ranks, count * ranks),
        "barrier": (0, 0),
    }
    return by_name.get(name, (count, count))


def buffers(name: str, size: int, rank: int, ranks: int) -> tuple[Floats, Floats]:
    """The arrays that a rank sends and receives: small whole numbers, whose sums are exact, and zeros. Both are
    written, so that they have memory of their own."""
    sent, received = lengths(name, size, rank, ranks)
    pattern = ((np.arange(PATTERN) + 3 * rank) % 16).astype(np.float32)
    return np.resize(pattern, sent), np.full(received, 0, np.float32)


def collective(name: str, comm: Any, sent: Floats, received: Floats) -> Call:
    """One call of a collective on these arrays; a broadcast replaces `sent` on all ranks but 0."""
    if name == "reduce_scatter":
        counts = comm.allgather(len(received))
        return lambda: comm.Reduce_scatter(sent, received, counts, op=MPI.SUM)
    calls: dict[str, Call] = {
        "bcast": lambda: comm.Bcast(sent),
        "reduce": lambda: comm.Reduce(sent, received, op=MPI.SUM),
        "allreduce": lambda: comm.Allreduce(sent, received, op=MPI.SUM),
        "allgather": lambda: comm.Allgather(sent, received),
        "alltoall": lambda: comm.Alltoall(sent, received),
        "barrier": comm.Barrier,
    }
    return calls[name]


def between(name: str, comm: Any, sent: Floats, received: Floats) -> Call:
    """One call of an operation between rank 0 and the last one, which alone may call it."""
    first, last = comm.Get_rank() == 0, comm.Get_size() - 1
    peer, word = last if first else 0, np.zeros(1, np.float32)

    def latency() -> None:
        if first:
            comm.Send(sent, peer)
            comm.Recv(received, peer)
        else:
            comm.Recv(received, peer)
            comm.Send(sent, peer)

    def stream() -> None:
        requests = [] if first and name == "bandwidth" else [comm.Irecv(received, peer) for _ in range(WINDOW)]
        if first or name == "bidirectional":
            requests += [comm.Isend(sent, peer) for _ in range(WINDOW)]
        MPI.Request.Waitall(requests)
        if first:
            comm.Recv(word, peer)
        else:
            comm.Send(word, peer)

    return latency if name == "latency" else stream


def measure(comm: Any, name: str, size: int, repeats: int, budget: float) -> Timing:
    """Time an operation of `size` bytes, of two ranks those with the lowest and the highest number.

    There are at least `repeats` iterations, and as many more as take `budget` seconds. Collective, the same on all
    ranks.
    """
    rank, last, pair = comm.Get_rank(), comm.Get_size() - 1, name in PAIRS
    team = comm.Split(MPI.UNDEFINED if pair and 0 < rank < last else 0, rank)
    timing = None
    if team != MPI.COMM_NULL:
        timing = _timing(team, name, size, repeats, budget)
        message_counts.free(team)
    ended = comm.Ibarrier()
    while not ended.Test():
        time.sleep(IDLE)
    return comm.bcast(timing)


def _timing(comm: Any, name: str, size: int, repeats: int, budget: float) -> Timing:
    sent, received = buffers(name, size, comm.Get_rank(), comm.Get_size())
    call = (between if name in PAIRS else collective)(name, comm, sent, received)
    most = MOST_ITERATIONS * min(1, SMALL / max(size, 1)) / (STREAM if name in ("bandwidth", "bidirectional") else 1)
    quickest = min(seconds_each(comm, name, call, WARM_UP) for _ in range(WARM_UP))  # other programs disturb the others
    turns = max(repeats, int(min(most, budget / max(comm.allreduce(quickest, op=MPI.MAX), 1e-9))))
    seconds_each(comm, name, call, max(WARM_UP, turns // 10))
    each = -(-turns // PARTS)
    seconds = [seconds_each(comm, name, call, each) / MESSAGES.get(name, 1) for _ in range(PARTS)]
    parts = np.array([comm.bcast(seconds)] if name in PAIRS else comm.allgather(seconds))  # (ranks, PARTS)
    means = parts.mean(axis=0)
    of_ranks = parts[:, means.argmin()].tolist()
    spread = float(means.max() / max(means.min(), 1e-9))
    return Timing(sum(of_ranks) / len(of_ranks), min(of_ranks), max(of_ranks), spread, each * PARTS)


def seconds_each(comm: Any, name: str, call: Call, turns: int) -> float:
    """This rank's mean seconds of a call. Between the calls of a collective all ranks meet, which isn't timed."""
    comm.Barrier()
    if name in PAIRS or name == "barrier":
        began = time.perf_counter()
        for _ in range(turns):
            call()
        return (time.perf_counter() - began) / turns
    total = 0.0
    for _ in range(turns):
        began = time.perf_counter()
        call()
        total += time.perf_counter() - began
        comm.Barrier()
    return total / turns


COLUMNS = {
    "latency": ["Latency (us)"],
    "bandwidth": ["Bandwidth (MB/s)"],
    "bidirectional": ["Bandwidth (MB/s)"],
}
OF_RANKS = ["Avg Latency(us)", "Min Latency(us)", "Max Latency(us)"]


def osu_table(name: str, sizes: Sequence[int], timings: Sequence[Sequence[float]]) -> str:
    """One operation by size: a latency, a bandwidth, or a collective's mean, lowest and highest over ranks; each of
    `timings` is like `operations.Timing`."""
    columns = COLUMNS.get(name, OF_RANKS)
    lines = [f"# {name}", "".join(["# Size    ", *(f"{column:>20}" for column in columns), f"{'Iterations':>16}"])]
    for size, (*seconds, iterations) in zip(sizes, timings, strict=False):
        streams = "MB/s" in columns[0]
        values = [size / seconds[0] / 1e6] if streams else [value * 1e6 for value in seconds[: len(columns)]]
        lines.append("".join([f"{size:<10}", *(f"{value:20.2f}" for value in values), f"{iterations:16.0f}"]))
    return "\n".join(lines) + "\n"
