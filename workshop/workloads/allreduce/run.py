"""The workload: what a rank does to measure all-reduces, from the smallest message to the largest."""

from __future__ import annotations

import math
import socket
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from mpi4py import MPI

from workshop.engine.context import RankContext
from workshop.workloads.allreduce import NUMBER, AllReduceParams
from workshop.workloads.allreduce.methods import Method, method, obstacle

BUDGET = 0.1  # seconds that a size is repeated for, if that is more often than asked for
MOST = 1000  # repeats
WARM_UP = 3  # calls before any counts: connections are made, memory is touched
TURNS = 7  # of what is measured beside all-reduces
REFERENCE = 64 << 20  # bytes that are copied to measure memory, more than most caches hold


def run(ctx: RankContext, params: AllReduceParams) -> Mapping[str, Any]:
    """Measure every method at every size. Collective.

    Events from rank 0, with the number of the size as their step: `message` in bytes, `latency METHOD` in seconds,
    `bandwidth METHOD` in bytes per second (bus bandwidth).

    Metrics: `sizes` in bytes; by method `seconds` (the lower quartile of each size, which other programs disturb
    least), `spread` (how many times as long the upper quartile is), `algorithm_bandwidth` and `bus_bandwidth` in bytes
    per second; `left_out`, why a method was; `memory_bandwidth`, what each rank copies while all do, and on several
    hosts `link_bandwidth`, what each sends to its neighbour while all do.
    """
    metrics: dict[str, Any] = {
        name: {} for name in ("seconds", "spread", "algorithm_bandwidth", "bus_bandwidth", "left_out")
    }
    sizes, stopped = params.sizes, False
    hosts = len(set(ctx.comm.allgather(socket.gethostname())))
    links = {"link_bandwidth": link_bandwidth(ctx.comm)} if hosts > 1 else {}
    ctx.activity("measuring the memory bandwidth")
    memory = memory_bandwidth(ctx.comm)
    ctx.activity("measuring messages")
    if ctx.rank == 0:
        for number, size in enumerate(sizes):
            ctx.emit("message", size, number)
    all_of_them = len(params.chosen) * len(sizes)
    for done, name in enumerate(params.chosen):
        if (reason := obstacle(name, ctx.comm)) is not None:
            metrics["left_out"][name] = reason
            ctx.progress((done + 1) * len(sizes), all_of_them)
            continue
        seconds, spread = metrics["seconds"][name], metrics["spread"][name] = [], []
        with method(name, ctx.comm) as prepare:
            for number, size in enumerate(sizes):
                with ctx.phase("communicate"):
                    took = measure(ctx.comm, prepare, size, params.repeats)
                low, high = np.quantile(took, (0.25, 0.75)).tolist()
                seconds.append(low)
                spread.append(high / low)
                ctx.end_step(done * len(sizes) + number)
                if ctx.rank == 0:
                    ctx.emit(f"latency {name}", seconds[-1], number)
                    ctx.emit(f"bandwidth {name}", bus_bandwidth(size, seconds[-1], ctx.size), number)
                ctx.progress(done * len(sizes) + number + 1, all_of_them)
                if stopped := ctx.stop_requested():
                    break
        metrics["algorithm_bandwidth"][name] = [size / took for size, took in zip(sizes, seconds, strict=False)]
        metrics["bus_bandwidth"][name] = [
            bus_bandwidth(size, took, ctx.size) for size, took in zip(sizes, seconds, strict=False)
        ]
        if stopped:
            break
    return {"sizes": sizes, **metrics, "memory_bandwidth": memory, **links, "hosts": hosts, "stopped": stopped}


def measure(comm: Any, prepare: Method, size: int, repeats: int) -> list[float]:
    """Seconds of each all-reduce of `size` bytes: from when all ranks are there to when the last one has the sum. The
    same on all ranks; at least `repeats`, and as many more as take `BUDGET`. Collective."""
    # Zeros stay what they are, however often they are added up; written, so that they have memory of their own.
    call = prepare(np.full(size // NUMBER, 0.0, np.float32))
    took = timed(comm, call, WARM_UP)
    enough = math.ceil(BUDGET / max(statistics.median(took), 1e-9))
    return timed(comm, call, max(repeats, min(enough, MOST)))


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


def bus_bandwidth(size: int, seconds: float, ranks: int) -> float:
    """Bytes per second that each rank's link carries, as nccl-tests defines it: the algorithm's bandwidth, which is
    size / seconds, times 2 (n - 1) / n, what every rank has to send at least (NVIDIA, nccl-tests, doc/PERFORMANCE.md).
    It can be compared with what a link or memory can carry, whatever the number of ranks; 0 for one rank alone."""
    return size / seconds * 2 * (ranks - 1) / ranks


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
