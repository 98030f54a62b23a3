"""The workload: what a rank does to measure messages, from the smallest to the largest."""

from __future__ import annotations

import math
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

from workshop.engine.context import RankContext, library
from workshop.workloads.allreduce import COLLECTIVES, NUMBER, AllReduceParams, check_ranks, operations
from workshop.workloads.allreduce.algorithms import algorithms_of, unknown_algorithms
from workshop.workloads.allreduce.methods import Method, method, obstacle
from workshop.workloads.allreduce.operations import Timing, osu_table

BUDGET = 0.1  # seconds that a size is repeated for, if that is more often than asked for
MOST_REPEATS = 1000  # repeats
WARM_UP = 3  # calls before any counts: connections are made, memory is touched
TURNS = 7  # of what is measured beside all-reduces
REFERENCE = 64 << 20  # bytes that are copied to measure memory, more than most caches hold


def run(ctx: RankContext, params: AllReduceParams) -> Mapping[str, Any]:
    """Measure every method or operation at every size. Collective. Raises BadInput for messages larger than memory, and
    for messages between two ranks on one.

    Events from rank 0, with the number of the size as their step: `message` in bytes, `latency NAME` in seconds of a
    method or operation. The artifact osu.txt has OSU's tables of operations.

    Metrics: `sizes` in bytes; by name `seconds` of each size and `spread`, how many times as long the slower repeats
    took. A method's seconds are the lower quartile, which other programs disturb least, and its spread is to the upper
    one; an operation's are the mean over ranks in the quickest fifth of the iterations, and its spread is to the
    slowest fifth. `left_out`, why a method was; `algorithms`, by collective of the MPI's a list by size of those
    algorithms that send the same messages as the MPI's choice; `algorithms_unknown`, why they aren't known. For
    all-reduces `memory_bandwidth`, what each rank copies in bytes per second while all do, and on several hosts
    `link_bandwidth`, what each sends to its neighbour while all do.
    """
    check_ranks(params, {}, ctx.size)
    metrics: dict[str, Any] = {name: {} for name in ("seconds", "spread", "left_out", "algorithms")}
    names, sizes, tables, stopped = params.chosen(ctx.size), params.sizes, [], False
    chooses = {"own", *COLLECTIVES} & set(names)  # those for which the MPI chooses an algorithm
    unknown = unknown_algorithms(ctx.comm) if chooses else ""
    hosts = len(set(ctx.comm.allgather(socket.gethostname())))
    beside = {}
    if params.operation == "allreduce":
        ctx.activity("measuring the bandwidth of memory and link")
        links = {"link_bandwidth": link_bandwidth(ctx.comm)} if hosts > 1 else {}
        beside = {**links, "memory_bandwidth": memory_bandwidth(ctx.comm)}
    if ctx.rank == 0:
        for number, size in enumerate(sizes):
            ctx.emit("message", size, number)
    for done, name in enumerate(names):
        if (reason := obstacle(name, ctx.comm)) is not None:
            metrics["left_out"][name] = reason
            ctx.progress((done + 1) * len(sizes), len(names) * len(sizes))
            continue
        ctx.activity(f"measuring {name}")
        timings: list[Timing] = []
        with _timer(ctx, params, name) as time_of:
            for number, size in enumerate([0] if name == "barrier" else sizes):
                with ctx.phase("communicate"):
                    timings.append(time_of(size))
                ctx.end_step(done * len(sizes) + number)
                if ctx.rank == 0 and size:
                    ctx.emit(f"latency {name}", timings[-1].mean, number)
                ctx.progress(done * len(sizes) + number + 1, len(names) * len(sizes))
                if stopped := ctx.stop_requested():
                    break
        metrics["seconds"][name] = [timing.mean for timing in timings]
        metrics["spread"][name] = [timing.spread for timing in timings]
        if params.operation != "allreduce":
            tables.append(osu_table(name, [0] if name == "barrier" else sizes, timings))
        if stopped:
            break
        if not unknown and name in chooses:
            operation = "allreduce" if name == "own" else name
            metrics["algorithms"][name] = algorithms_of(ctx.comm, operation, [0] if name == "barrier" else sizes)
    if ctx.rank == 0 and tables:
        heading = f"# {library()}, {ctx.size} ranks\n\n"
        ctx.artifact("osu.txt", (heading + "\n".join(tables)).encode(), "text/plain")
    return {"sizes": sizes, **metrics, "algorithms_unknown": unknown, **beside, "hosts": hosts, "stopped": stopped}


@contextmanager
def _timer(ctx: RankContext, params: AllReduceParams, name: str) -> Iterator[Callable[[int], Timing]]:
    """A function that times a message of so many bytes, by a method or in an operation. It and its calls are
    collective."""
    if params.operation != "allreduce":
        yield lambda size: operations.measure(ctx.comm, name, size, params.repeats, BUDGET)
        return
    with method(name, ctx.comm) as prepare:

        def time_of(size: int) -> Timing:
            took = measure(ctx.comm, prepare, size, params.repeats)
            low, high = np.quantile(took, (0.25, 0.75)).tolist()
            return Timing(low, low, high, high / low, len(took))

        yield time_of


def measure(comm: Any, prepare: Method, size: int, repeats: int) -> list[float]:
    """Seconds of each all-reduce of `size` bytes: from when all ranks are there to when the last one has the sum. The
    same on all ranks; at least `repeats`, and as many more as take `BUDGET`. Collective."""
    # Zeros stay what they are, however often they are added up; written, so that they have memory of their own.
    call = prepare(np.full(size // NUMBER, 0.0, np.float32))
    took = timed(comm, call, WARM_UP)
    enough = math.ceil(BUDGET / max(statistics.median(took), 1e-9))
    return timed(comm, call, max(repeats, min(enough, MOST_REPEATS)))


def timed(comm: Any, call: Callable[[], Any], turns: int) -> list[float]:
    """Seconds of each turn of the slowest rank, all ranks beginning together; the same on all. Collective."""
    took = np.empty(turns)
    for turn in range(turns):
        comm.Barrier()
        began = time.perf_counter()
        call()
        took[turn] = time.perf_counter() - began
    comm.Allreduce(MPI.IN_PLACE, took, op=MPI.MAX)
    return took.tolist()


def memory_bandwidth(comm: Any) -> float:
    """Bytes per second that a rank copies from one array to another while all ranks of its host do. Collective."""
    source, target = np.full(REFERENCE, 1, np.uint8), np.full(REFERENCE, 0, np.uint8)
    return REFERENCE / statistics.median(timed(comm, lambda: np.copyto(target, source), TURNS))


def link_bandwidth(comm: Any) -> float:
    """Bytes per second that a rank sends to the next while it receives as many from the one before. Collective."""
    sent, received = np.full(REFERENCE, 1, np.uint8), np.full(REFERENCE, 0, np.uint8)
    rank, ranks = comm.Get_rank(), comm.Get_size()

    def exchange() -> None:
        comm.Sendrecv(sent, dest=(rank + 1) % ranks, recvbuf=received, source=(rank - 1) % ranks)

    return REFERENCE / statistics.median(timed(comm, exchange, TURNS))
