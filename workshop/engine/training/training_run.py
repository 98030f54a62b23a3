"""The life of a training run on a rank: an exchange is chosen, something is trained over it, its timeline is kept.

The report of a training run at its end: its steps, its speed, its memory.

Whether all ranks hold the same network: its hash on each, and how far apart they are.
"""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np
import psutil
from mpi4py import MPI

from workshop.engine.context import RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training import step_report, trace
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.exchanges import ExchangeSettings, choose
from workshop.engine.training.loop import WARM, Loop
from workshop.engine.training.step_report import as_list

OnTrace = Callable[[bool], None]


class RankTraining(Protocol):
    """A workload's training on one rank. All methods are collective."""

    loop: Loop
    seconds: dict[str, float]  # of its parts, by name

    def conditions(self) -> dict[str, Any]:
        """Metrics that are known before the first step."""

    def train(self) -> None:
        """Take the steps."""

    def finish(self) -> dict[str, Any]:
        """Metrics and artifacts of the end, besides what `report` tells of any training."""


def run(
    ctx: RankContext, settings: ExchangeSettings, begin: Callable[[Exchange, OnTrace], RankTraining]
) -> dict[str, Any]:
    """Train over an exchange and return the run's metrics; the artifact timeline.json is kept. `begin` makes what is
    trained, with what its loop has to call where the kept steps begin and end. Collective."""
    began = time.perf_counter()
    ctx.activity("loading TensorFlow")
    tensorflow()
    ctx.activity("reading data and building the model")
    exchange, why = choose(settings, ctx.comm)
    exchange.phase = lambda name: ctx.phase(name, account=False)
    with ExitStack() as stack:
        stack.callback(exchange.close)
        training = begin(exchange, lambda begins: exchange.record() if begins else exchange.stop_recording())
        training.seconds["prepare"] = time.perf_counter() - began
        ctx.publish(exchange=exchange.name, exchange_why=why, **training.conditions())
        ctx.activity("compiling the training step")
        training.train()
        if ctx.threads.looked:
            ctx.threads.look()  # also at what they did since the last time
        exchange.stop_recording()
        metrics = {
            **training.conditions(),
            **of_steps(training.loop, exchange),
            **training.finish(),
            **of_speed(training.loop),
            "exchange": exchange.name,
            "exchange_why": why,
            "mpi_seconds": exchange.mpi_seconds() if training.loop.reporter.totals.steps else None,
        }
        seconds = {"train": training.loop.seconds, **training.seconds}
        metrics["seconds"] = {name: round(value, 6) for name, value in seconds.items()}
        stack.close()  # what the exchange has recorded is complete now
        metrics |= _keep_timeline(ctx, training.loop, exchange)
        if ctx.rank == 0:
            for name, text in exchange.artifacts().items():
                ctx.artifact(name, text.encode(), "text/plain")
    return metrics


def _keep_timeline(ctx: RankContext, loop: Loop, exchange: Exchange) -> dict[str, Any]:
    """Rank 0 keeps the timeline of all ranks, once the exchange is closed; returns what timelines tell as metrics."""
    hosts = ctx.comm.gather(socket.gethostname())
    transfers = ctx.comm.gather(exchange.transfers)
    if ctx.rank != 0 or not loop.reporter.kept:
        return {}
    first = loop.updates - loop.done + WARM
    marks = np.concatenate(loop.reporter.kept, axis=1)
    exchanged = exchange.name != "none"
    document = trace.trace(marks, first, hosts, exchanged=exchanged, transfers=transfers)
    ctx.artifact("timeline.json", json.dumps(document).encode(), "application/json")
    return {"hidden": step_report.hidden(marks, transfers)}


def of_steps(loop: Loop, exchange: Exchange) -> dict[str, Any]:
    """Metrics of the measured steps and of what the exchange moved. The same on all ranks."""
    totals = loop.reporter.totals
    return {
        "updates": loop.updates,
        "first_loss": loop.reporter.first_loss,
        "highest_loss": loop.reporter.highest_loss,
        "stopped": loop.stopped,
        "measured_steps": totals.steps,
        "phases": {name: as_list(values) for name, values in totals.phases.items()},
        "last": totals.last.tolist(),
        "late_by": as_list(totals.late / np.maximum(totals.last, 1)),
        "bytes_per_step": exchange.bytes,
        "gradient_bytes": exchange.gradient_bytes,
        "messages_per_step": exchange.messages,
        "bytes_exchanged": exchange.bytes * loop.done,
        "telling_share": loop.reporting_seconds / loop.seconds if loop.seconds else 0.0,
    }


def of_speed(loop: Loop) -> dict[str, Any]:
    """Examples, which are images here, per second: of all ranks and of each. Empty where no step was measured."""
    totals = loop.reporter.totals
    speed, each = totals.speed(), totals.speeds()
    if speed is None or each is None:
        return {}
    return {
        "images_per_second": speed.mean,
        "images_per_second_deviation": speed.deviation,
        "images_per_second_jitter": speed.jitter,
        "images_per_second_ranks": as_list(totals.examples / totals.busy),
        "images_per_second_ranks_deviation": [speed.deviation for speed in each],
        "images_per_second_ranks_jitter": [speed.jitter for speed in each],
    }


class Resident:
    """This rank's resident memory in bytes, and its highest value so far."""

    def __init__(self, ctx: RankContext) -> None:
        self.ctx = ctx
        self.most = 0

    def look(self) -> int:
        now = psutil.Process().memory_info().rss
        self.most = max(self.most, now)
        return now

    def tell(self, step: int) -> None:
        """Emit the present `memory`."""
        self.ctx.emit("memory", self.look(), step)

    def of_all(self) -> list[int]:
        """The highest resident memory of each rank. Collective."""
        self.look()
        most: list[int] = self.ctx.comm.allgather(self.most)
        return most


def digest(weights: Any) -> str:
    """sha256 of all weights' bytes, in their order."""
    checksum = hashlib.sha256()
    for weight in weights:
        checksum.update(np.ascontiguousarray(weight.numpy()).tobytes())
    return checksum.hexdigest()


def spread(comm: Any, weights: Any) -> float:
    """How far apart the ranks' weights are: the largest distance of a rank's from the mean of all ranks, relative to
    that mean's norm; 0 where all are the same. Collective."""
    vector = np.concatenate([weight.numpy().ravel() for weight in weights]).astype(np.float64)
    lowest, highest = vector.copy(), vector.copy()
    comm.Allreduce(MPI.IN_PLACE, lowest, op=MPI.MIN)
    comm.Allreduce(MPI.IN_PLACE, highest, op=MPI.MAX)
    if np.array_equal(lowest, highest):
        return 0.0  # also where the mean, added up in some order, would differ in its last digit
    mean = vector.copy()
    comm.Allreduce(MPI.IN_PLACE, mean, op=MPI.SUM)
    mean /= comm.size
    norm = float(np.linalg.norm(mean))
    farthest = comm.allreduce(float(np.linalg.norm(vector - mean)), op=MPI.MAX)
    return farthest / norm if norm > 0 else float("inf")


def average(comm: Any, variables: Any) -> None:
    """Give all ranks the mean of each floating-point variable. Moving means and variances have no gradient, so each
    rank has its own values otherwise. Collective."""
    for variable in variables:
        value = np.array(variable.numpy(), order="C")
        if value.dtype.kind == "f":
            comm.Allreduce(MPI.IN_PLACE, value, op=MPI.SUM)
            variable.assign(value / value.dtype.type(comm.size))
