"""The workload: what a rank does to measure a step and its parts."""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from mpi4py import MPI
from threadpoolctl import threadpool_limits

from workshop.engine.context import RankContext
from workshop.workloads.scale import NUMBER, StepParams
from workshop.workloads.scale.exchange import ALGORITHMS, NetworkLink
from workshop.workloads.scale.messages import Messenger
from workshop.workloads.scale.step import PacedWork

WARM_UP = 2  # steps that don't count
REPEATS, BUDGET = 24, 2.0  # repeats of each batch size in a calibration, as long as they take so many seconds
LOOK = 0.5  # seconds between looks at whether the run should end early
TURNS = 9  # of each message size
FEW = 5  # of each all-reduce, and of what takes long
SMALLEST = 1 << 10  # bytes of a message


def run(ctx: RankContext, params: StepParams) -> Mapping[str, Any]:
    """Repeat a step. Collective.

    Events: `step`, the seconds of each step on rank 0; the time of each step by phase from each rank.

    Metrics: `seconds` of an average step by part, where `compute` is the mean of all ranks, and `stragglers` how much
    longer the slowest rank takes; `examples_per_second` of all ranks; `messages` and `bytes` that rank 0 sent in a
    step; `step_seconds` of each step on rank 0; `calibration`, which `Calibration` describes.
    """
    hosts = ctx.comm.allgather(socket.gethostname())
    link = NetworkLink(params.latency / 1e6, params.bandwidth * 1e6) if params.per_host else None
    messenger = Messenger(ctx.comm, params.per_host or ranks_per_host(hosts), link, params.half)
    with threadpool_limits(1):
        work = PacedWork(params, ctx.rank, ctx.size)
        ctx.activity("warming up")
        step = RankStep(params, work, messenger)
        for _ in range(WARM_UP):
            longest = ctx.comm.allreduce(sum(step.take(params.overlap)), MPI.MAX)
        calibration = _calibrate(ctx, params, step, longest) if params.calibrate else None
        if calibration is not None:
            calibration["hosts"] = len(set(hosts))
        ctx.activity("measuring steps")
        return {**_measure(ctx, params, step, longest), "calibration": calibration}


def ranks_per_host(hosts: Sequence[str]) -> int:
    """The ranks of each host, from the host of each rank; 0 where all ranks are on one host, or where hosts don't have
    equally many neighbouring ranks."""
    count = len(hosts) // len(set(hosts))
    regular = [host for host in dict.fromkeys(hosts) for _ in range(count)]
    return count if len(set(hosts)) > 1 and regular == list(hosts) else 0


class RankStep:
    """A step on this rank, whose parts can be measured one by one."""

    def __init__(self, params: StepParams, work: PacedWork, messenger: Messenger) -> None:
        self.params, self.work, self.messenger = params, work, messenger
        self.buckets = params.buckets

    def take(self, overlap: bool) -> tuple[float, float, float]:
        """One step. Returns the seconds of input, of compute, and of the exchange that compute doesn't hide.
        Collective."""
        began = time.perf_counter()
        self.work.read(self.params.batch)
        read = time.perf_counter()
        with self._exchanging() if overlap else nullcontext() as exchange:
            self.work.forward()
            pending = []
            for bucket in self.buckets:
                pending.append(np.concatenate([self.work.backward(tensor) for tensor in bucket]))
                if exchange:
                    exchange(pending[-1])
            computed = time.perf_counter()
            for gradients in pending if exchange is None else ():
                self.exchange(gradients)
        return read - began, computed - read, time.perf_counter() - computed

    def exchange(self, gradients: Any) -> None:
        """Add up gradients over all ranks. Collective."""
        self.messenger.all_reduce(gradients, self.params.algorithm, self.params.servers)

    @contextmanager
    def _exchanging(self) -> Iterator[Callable[[Any], object]]:
        """A function that has a thread exchange a bucket while the rank computes. The buckets keep their order, and all
        are exchanged when the block ends. Only this thread talks meanwhile. A block that fails ends the thread."""
        with ThreadPoolExecutor(1, "exchange") as thread:
            exchanges: list[Future[None]] = []
            try:
                yield lambda gradients: exchanges.append(thread.submit(self.exchange, gradients))
                for exchange in exchanges:
                    exchange.result()
            except BaseException:  # also where the run is cancelled: the thread must not talk in the next run
                self.messenger.stopped = True
                thread.shutdown(wait=False, cancel_futures=True)
                raise


def _measure(ctx: RankContext, params: StepParams, step: RankStep, longest: float) -> dict[str, Any]:
    """The steps themselves, one of which takes about `longest` seconds."""
    look = min(max(int(LOOK / longest), 1), 10)  # steps between looks at whether the run should end early
    rows, messenger = [], step.messenger
    messages, size = messenger.messages, messenger.bytes
    ctx.comm.Barrier()
    for number in range(params.steps):
        began = time.perf_counter()
        read, computed, exchanged = step.take(params.overlap)
        evaluation = _timed(step.work.evaluate) if _due(params.evaluate_every, number) else 0.0
        saves = ctx.rank == 0 and _due(params.checkpoint_every, number)
        extra = evaluation, _timed(step.work.save) if saves else 0.0
        total = time.perf_counter() - began
        rows.append((total, read, computed, exchanged, *extra))
        now = time.time()
        for phase, seconds in (("input", read), ("compute", computed + sum(extra)), ("communicate", exchanged)):
            ctx.account(phase, seconds, number, now)
        if ctx.rank == 0:
            ctx.emit("step", total, number)
        ctx.progress(number + 1, params.steps)
        if number % look == look - 1 and ctx.stop_requested():
            break
    count = len(rows)
    sent = (messenger.messages - messages) / count, (messenger.bytes - size) / count
    every = np.array(ctx.comm.allgather(rows))  # [ranks, steps, parts]
    total, read, computed, _, evaluation, _ = every.mean(axis=(0, 1))
    work = (every[:, :, 1] + every[:, :, 2]).T  # [steps, ranks]
    stragglers = float((work.max(axis=1) - work.mean(axis=1)).mean())
    exposed = total - read - computed - stragglers - evaluation - every[0, :, 5].mean()
    parts = {"input": read, "compute": computed, "stragglers": stragglers, "exchange": max(exposed, 0.0)}
    parts |= {"evaluation": evaluation, "checkpoint": every[0, :, 5].mean(), "step": total}
    return {
        "seconds": {name: float(seconds) for name, seconds in parts.items()},
        "examples_per_second": float(params.batch * ctx.size / total),
        "steps": count,
        "messages": sent[0],
        "bytes": sent[1],
        "step_seconds": every[0, :, 0].tolist(),
        "stopped": count < params.steps,
    }


def _due(every: int, number: int) -> bool:
    return bool(every) and (number + 1) % every == 0


def _calibrate(ctx: RankContext, params: StepParams, step: RankStep, longest: float) -> dict[str, Any] | None:
    """Measure each part by itself, as `Calibration` describes it; None where the run should end early. Collective."""
    work, comm = step.work, ctx.comm
    ctx.activity("measuring compute")
    batches = sorted({max(params.batch // 4, 1), max(params.batch // 2, 1), params.batch, 2 * params.batch})
    compute = {}
    for batch in batches:
        repeats = min(max(int(BUDGET * params.batch / batch / longest), FEW), REPEATS)
        compute[batch] = comm.allgather([_compute(step, batch) for _ in range(repeats)])
        if ctx.stop_requested():
            return None
    ctx.activity("measuring input, evaluation and checkpoint")
    parts = {
        "input": comm.allgather([_timed(lambda: work.read(params.batch)) for _ in range(REPEATS)]),
        "evaluation": comm.allgather([_timed(work.evaluate) for _ in range(FEW)]),
        "checkpoint": [[_timed(work.save) for _ in range(FEW)]] if ctx.rank == 0 else [],
    }
    ctx.activity("measuring messages")
    total = params.parameters * NUMBER
    sizes = sorted({min(SMALLEST * 8**power, total) for power in range(8)})
    messages = {}
    members = step.messenger.per_host
    shifts = {"inside": (1, members or ctx.size), "between": (members, ctx.size)}
    for name, (distance, group) in shifts.items():
        if 0 < distance < group and ctx.size % group == 0:
            # All ranks of a real host share its link, so one rank of each host is enough.
            takes_part = name == "inside" or bool(params.per_host) or ctx.rank % distance == 0
            messages[name] = {size: _shift(step.messenger, distance, group, size, takes_part) for size in sizes}
    ctx.activity("measuring all-reduces")
    all_reduces = {
        algorithm: {size: _all_reduce(step.messenger, algorithm, params.servers, size) for size in sizes[-3:]}
        for algorithm in ALGORITHMS
        if ctx.size > 1
    }
    return {
        "ranks": ctx.size,
        "per_host": members,
        "servers": params.servers,
        "batch": params.batch,
        "compute": compute,
        **parts,
        "messages": messages,
        "all_reduces": all_reduces,
    }


def _timed(part: Callable[[], Any]) -> float:
    began = time.perf_counter()
    part()
    return time.perf_counter() - began


def _compute(step: RankStep, batch: int) -> float:
    """The seconds of a forward and backward pass."""
    step.work.read(batch)
    began = time.perf_counter()
    step.work.forward()
    for bucket in step.buckets:
        np.concatenate([step.work.backward(tensor) for tensor in bucket])
    return time.perf_counter() - began


def _shift(messenger: Messenger, distance: int, group: int, size: int, takes_part: bool) -> list[float]:
    """The time of a message while the ranks of each group that take part send to the rank at a distance. Collective."""
    count, times = size // messenger.dtype.itemsize, []
    values, first, place = np.full(count, 0.0, np.float32), messenger.rank // group * group, messenger.rank % group
    destination, source = (first + (place + step) % group for step in (distance, -distance))
    for _ in range(TURNS + 1):
        messenger.comm.Barrier()
        began = time.perf_counter()
        if takes_part:
            messenger.send(values, destination)
            messenger.receive(count, source)
            messenger.finish()
            times.append(time.perf_counter() - began)
    of_ranks = filter(None, messenger.comm.allgather(times[1:]))  # the first one makes the connection
    return [statistics.fmean(turn) for turn in zip(*of_ranks, strict=True)]


def _all_reduce(messenger: Messenger, algorithm: Any, servers: int, size: int) -> list[float]:
    """The seconds of all-reduces, each from when all ranks are there until the last one has the sum. Collective."""
    values, times = np.full(size // NUMBER, 0.0, np.float32), []
    for _ in range(FEW):
        messenger.comm.Barrier()
        times.append(_timed(lambda: messenger.all_reduce(values, algorithm, servers)))
    return [max(of_ranks) for of_ranks in zip(*messenger.comm.allgather(times), strict=True)]
