"""Who has sent in a round, and what the aggregator keeps of all that was sent: for the metric `sending`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from workshop.engine.context import RankContext
from workshop.engine.data.shards import order
from workshop.workloads.federated.messages import AGGREGATOR, COUNT, CUT, SCORE, UPDATE, Line
from workshop.workloads.federated.params import Learning

SILENT = 61  # stream of a seed
EVERY = 1.0  # seconds between two times that it is told while a run goes on


def silent_ones(params: Learning, number: int, chosen: Sequence[int]) -> list[int]:
    """The institutions that learn in a round (counted from 1) and fall silent before they send: drawn anew in each.

    Everybody knows them from the seed. It stands for what a limit of time would find over a network."""
    drawn = order(len(chosen), [params.seed, SILENT, number])[: params.silent]
    return sorted(chosen[place] for place in drawn)


class Sent:
    """What has come to the aggregator. Elsewhere it stays empty."""

    def __init__(self, ctx: RankContext, line: Line, params: Learning) -> None:
        self.ctx, self.line, self.params = ctx, line, params
        self.updates = 0  # that came
        self.rounds = 0
        self.silent = [0] * params.institutions  # rounds of each
        self.too_large = [0] * params.institutions  # the same, for updates that have no fixed point
        self.too_few = 0  # rounds in which a sum would have given somebody away
        self.uncancelled = 0  # rounds in which masks were left in the sum, and it was used nevertheless
        self.seeds = 0  # that were revealed
        self.seen: dict[str, Any] | None = None
        self._told_at: float | None = None

    def round(self, came: int, silent: Sequence[int]) -> None:
        """A round is over: so many updates came."""
        self.rounds += 1
        self.updates += came
        for one in silent:
            self.silent[one] += 1

    def tell(self) -> None:
        """Tell it while the run goes on: at the first call and then from time to time, on the aggregator's rank."""
        now = time.monotonic()
        if self.ctx.rank == AGGREGATOR and (self._told_at is None or now - self._told_at >= EVERY):
            self._told_at = now
            self.ctx.known(sending=self.told())

    def told(self) -> dict[str, Any]:
        """So far, as JSON has it. `up` and `down` are lists of kinds with their messages and bytes; `bytes_updates`
        all that went up for updates, and `bytes_plain` what as many plain ones and their weights take."""
        ways: dict[str, list[dict[str, Any]]] = {"up": [], "down": []}
        for (direction, kind), (count, size) in self.line.sent.items():
            ways[direction].append({"kind": kind, "messages": count, "bytes": size})
        each = UPDATE.empty(self.line.parameters).nbytes + COUNT.empty(0).nbytes
        return {
            "secure": self.params.secure,
            "compression": self.params.compression,
            **ways,
            "rounds": self.rounds,
            "updates": self.updates,
            "bytes_updates": sum(one["bytes"] for one in ways["up"] if one["kind"] not in (SCORE.name, CUT.name)),
            "bytes_plain": self.updates * each,
            "silent": self.silent,
            "too_large": self.too_large,
            "too_few": self.too_few,
            "uncancelled": self.uncancelled,
            "seeds": self.seeds,
            "seconds_encoding": self.ctx.phase_seconds.get("encode", 0.0),
            "seen": self.seen,
        }
