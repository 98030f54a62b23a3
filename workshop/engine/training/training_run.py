"""The life of a training run on a rank: an exchange is chosen, something is trained over it, its timeline is kept."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np

from workshop.engine.context import RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training import measure, report, trace
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.exchanges import ExchangeSettings, choose
from workshop.engine.training.loop import WARM, Loop

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
            **report.of_steps(training.loop, exchange),
            **training.finish(),
            **report.of_speed(training.loop),
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
    return {"hidden": measure.hidden(marks, transfers)}
