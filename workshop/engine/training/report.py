"""The report of a training run at its end: its steps, its speed, its memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import psutil

from workshop.engine.context import RankContext
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.loop import Loop
from workshop.engine.training.step_report import as_list


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
