"""Ways to send updates to the aggregator, and the counts of what was sent, for the metric `sending`.

An uplink's `gather` is collective and collects a round's updates. Updates arrive one after the other: each is encoded
in its turn, and dropped once the aggregator has added it up, so that memory doesn't grow with the institutions.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data.shards import order
from workshop.workloads.federated.communication.compression import Feedback, codec
from workshop.workloads.federated.communication.messages import (
    AGGREGATOR,
    COUNT,
    CUT,
    SCORE,
    UPDATE,
    InstitutionChannel,
    MessageKind,
    home,
)
from workshop.workloads.federated.mathematics.aggregation import MEMORY_LIMIT, GatheredUpdates, Vector, combined
from workshop.workloads.federated.params import ROBUST, Learning

SILENT, ROUNDING = 61, 62  # streams of a seed
Parts = Mapping[str, NDArray[Any]]  # messages by the names of their kinds
COUNTED = ("rounds", "updates", "silent", "too_large", "too_few", "uncancelled", "seeds", "seen")
EVERY = 1.0  # seconds between two summaries while a run goes on


def silent_ones(params: Learning, number: int, chosen: Sequence[int]) -> list[int]:
    """Return the institutions that fall silent in a round before they send. Every rank computes them from the seed;
    over a network a time limit would find them."""
    positions = order(len(chosen), [params.seed, SILENT, number])[: params.silent]
    return sorted(chosen[place] for place in positions)


class TransmissionLog:
    """The counts of updates that arrive at the aggregator. On other ranks it stays empty."""

    def __init__(self, ctx: RankContext, channel: InstitutionChannel, params: Learning) -> None:
        self.ctx, self.channel, self.params = ctx, channel, params
        self.updates = 0  # updates that arrived
        self.rounds = 0
        self.silent = [0] * params.institutions  # rounds in which each institution fell silent
        self.too_large = [0] * params.institutions  # rounds in which each one's update was too large to be masked
        self.too_few = 0  # rounds with too few updates to open the sum
        self.uncancelled = 0  # rounds whose sum still had masks in it
        self.seeds = 0  # seeds that were revealed
        self.seen: dict[str, Any] | None = None
        self._sent_at: float | None = None

    def round(self, updates: int, silent: Sequence[int]) -> None:
        """Count a round that is over."""
        self.rounds += 1
        self.updates += updates
        for institution in silent:
            self.silent[institution] += 1

    def tell(self) -> None:
        """Publish the summary at the first call and then at most every `EVERY` seconds, on the aggregator's rank."""
        now = time.monotonic()
        if self.ctx.rank == AGGREGATOR and (self._sent_at is None or now - self._sent_at >= EVERY):
            self._sent_at = now
            self.ctx.publish(sending=self.summary())

    def summary(self) -> dict[str, Any]:
        """Return the counts so far as JSON: messages and bytes by kind, the bytes of all updates, and the bytes that as
        many plain updates would take."""
        ways: dict[str, list[dict[str, Any]]] = {"up": [], "down": []}
        for (direction, kind), (count, size) in self.channel.sent.items():
            ways[direction].append({"kind": kind, "messages": count, "bytes": size})
        each = UPDATE.empty(self.channel.parameters).nbytes + COUNT.empty(0).nbytes
        return {
            "secure": self.params.secure,
            "compression": self.params.compression,
            **ways,
            **{name: getattr(self, name) for name in COUNTED},
            "bytes_updates": sum(entry["bytes"] for entry in ways["up"] if entry["kind"] not in (SCORE.name, CUT.name)),
            "bytes_plain": self.updates * each,
            "seconds_encoding": self.ctx.phase_seconds.get("encode", 0.0),
        }


def arriving(
    ctx: RankContext,
    channel: InstitutionChannel,
    kinds: Sequence[MessageKind],
    senders: Sequence[int],
    encoded: Callable[[int], Parts],
) -> Iterator[tuple[int, Parts]]:
    """Yield these institutions' messages, one after the other, on the aggregator's rank; nothing on others. Collective:
    all ranks have to read it to its end. `encoded` makes the messages of an institution of this rank. On other ranks
    than the aggregator's, `senders` may be that rank's institutions only."""
    for sender in sorted(senders):
        outgoing: Parts = {}
        if home(sender, ctx.size) == ctx.rank:
            with ctx.phase("encode"):
                outgoing = encoded(sender)
        with ctx.phase("gather"):
            parts = channel.from_institution(kinds, sender, outgoing)
        if ctx.rank == AGGREGATOR:
            with ctx.phase("aggregate"):
                yield sender, parts


class Uplink(ABC):
    """A way to send updates to the aggregator. `sent` counts what was sent so far, on the aggregator's rank."""

    def __init__(self, ctx: RankContext, channel: InstitutionChannel, params: Learning) -> None:
        self.ctx, self.channel, self.params = ctx, channel, params
        self.sent = TransmissionLog(ctx, channel, params)

    @abstractmethod
    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> GatheredUpdates:
        """Return a round's updates; empty on other ranks than the aggregator's. Collective. `updates` and `images` are
        those of this rank's institutions; `chosen` has all institutions of the round."""


class PlainUplink(Uplink):
    """Institutions send updates that the aggregator can read, as they are or compressed."""

    def __init__(self, ctx: RankContext, channel: InstitutionChannel, params: Learning) -> None:
        super().__init__(ctx, channel, params)
        self.codec = codec(params, channel.parameters)
        self.feedback = Feedback(self.codec)

    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> GatheredUpdates:
        silent = silent_ones(self.params, number, chosen)
        senders = [institution for institution in chosen if institution not in silent]
        with self.ctx.phase("gather"):
            counts = self.channel.numbers(COUNT, images, senders)
        arrivals = arriving(self.ctx, self.channel, self.codec.kinds, senders, partial(self._encoded, number, updates))
        read = ((institution, self.codec.decode(parts)) for institution, parts in arrivals)
        if self.params.rule in ROBUST or UPDATE.empty(self.channel.parameters).nbytes * len(senders) <= MEMORY_LIMIT:
            together = dict(read)
            with self.ctx.phase("aggregate"):
                gathered = combined(together, counts, self.params)
        else:
            gathered = combined(read, counts, self.params)
        if self.ctx.rank != AGGREGATOR:
            return GatheredUpdates()
        self.sent.round(len(senders), silent)
        return replace(gathered, silent=silent)

    def _encoded(self, number: int, updates: Mapping[int, Vector], institution: int) -> Parts:
        """Return an institution's encoded update; its random numbers are the same on every rank."""
        chance = np.random.RandomState([self.params.seed, ROUNDING, number, institution])
        return self.feedback.encode(institution, updates[institution], chance)
