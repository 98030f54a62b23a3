"""How updates come to the aggregator, and what it keeps of all that was sent, for the metric `sending`.

An uplink's `gather` is collective and brings a round's updates together. Updates arrive one after the other: each is
encoded when its turn has come, and forgotten once the aggregator has added it up, so that memory doesn't grow with the
institutions.
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
from workshop.workloads.federated.mathematics.aggregation import KEPT, GatheredUpdates, Vector, combined
from workshop.workloads.federated.params import ROBUST, Learning

SILENT, ROUNDING = 61, 62  # streams of a seed
Parts = Mapping[str, NDArray[Any]]  # messages by the names of their kinds
COUNTED = ("rounds", "updates", "silent", "too_large", "too_few", "uncancelled", "seeds", "seen")
EVERY = 1.0  # seconds between two times that it is told while a run goes on


def silent_ones(params: Learning, number: int, chosen: Sequence[int]) -> list[int]:
    """The institutions that fall silent in a round before they send. Everybody knows them from the seed; over a network
    a limit of time would find them."""
    drawn = order(len(chosen), [params.seed, SILENT, number])[: params.silent]
    return sorted(chosen[place] for place in drawn)


class TransmissionLog:
    """What has come to the aggregator. Elsewhere it stays empty."""

    def __init__(self, ctx: RankContext, channel: InstitutionChannel, params: Learning) -> None:
        self.ctx, self.channel, self.params = ctx, channel, params
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
        """So far, as JSON has it: kinds with messages and bytes, all bytes of updates, and what as many plain ones
        would take."""
        ways: dict[str, list[dict[str, Any]]] = {"up": [], "down": []}
        for (direction, kind), (count, size) in self.channel.sent.items():
            ways[direction].append({"kind": kind, "messages": count, "bytes": size})
        each = UPDATE.empty(self.channel.parameters).nbytes + COUNT.empty(0).nbytes
        return {
            "secure": self.params.secure,
            "compression": self.params.compression,
            **ways,
            **{name: getattr(self, name) for name in COUNTED},
            "bytes_updates": sum(one["bytes"] for one in ways["up"] if one["kind"] not in (SCORE.name, CUT.name)),
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
    """What these institutions send, one after the other, on the aggregator's rank; nothing on others. Collective: to be
    read to its end. `encoded` makes the messages of an institution of this rank. Other ranks need to know their own
    senders only."""
    for sender in sorted(senders):
        mine: Parts = {}
        if home(sender, ctx.size) == ctx.rank:
            with ctx.phase("encode"):
                mine = encoded(sender)
        with ctx.phase("gather"):
            parts = channel.from_institution(kinds, sender, mine)
        if ctx.rank == AGGREGATOR:
            with ctx.phase("aggregate"):
                yield sender, parts


class Uplink(ABC):
    """A way to send updates to the aggregator. Its `sent` knows what was sent so far, on the aggregator's rank."""

    def __init__(self, ctx: RankContext, channel: InstitutionChannel, params: Learning) -> None:
        self.ctx, self.channel, self.params = ctx, channel, params
        self.sent = TransmissionLog(ctx, channel, params)

    @abstractmethod
    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> GatheredUpdates:
        """A round's updates, empty on other ranks than the aggregator's. Collective; `updates` and `images` are those
        of this rank's institutions, `chosen` are all that learn in the round."""


class PlainUplink(Uplink):
    """Every institution sends its update so that the aggregator can read it, as it is or compressed."""

    def __init__(self, ctx: RankContext, channel: InstitutionChannel, params: Learning) -> None:
        super().__init__(ctx, channel, params)
        self.codec = codec(params, channel.parameters)
        self.feedback = Feedback(self.codec)

    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> GatheredUpdates:
        silent = silent_ones(self.params, number, chosen)
        senders = [one for one in chosen if one not in silent]
        with self.ctx.phase("gather"):
            mine = {one: np.array([images[one]], np.int64) for one in updates}
            told = self.channel.from_institutions(COUNT, mine, senders)
            counts = {one: int(count[0]) for one, count in told.items()}
        found = arriving(self.ctx, self.channel, self.codec.kinds, senders, partial(self._encoded, number, updates))
        read = ((one, self.codec.decode(parts)) for one, parts in found)
        if self.params.rule in ROBUST or UPDATE.empty(self.channel.parameters).nbytes * len(senders) <= KEPT:
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
        """What an institution draws is the same on whichever rank it lives."""
        chance = np.random.RandomState([self.params.seed, ROUNDING, number, institution])
        return self.feedback.encode(institution, updates[institution], chance)
