"""How updates come to the aggregator, and what it makes of them: communication here, arithmetic in `aggregate`,
`compress` and `fixedpoint`.

Every way to send has the same method: `gather` is collective and brings a round's updates together. Its `sent` knows
what was sent so far, on the aggregator's rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated.aggregate import KEPT, Gathered, Vector, combined
from workshop.workloads.federated.arriving import Parts, arriving
from workshop.workloads.federated.compress import Feedback, codec
from workshop.workloads.federated.guarding import ROBUST
from workshop.workloads.federated.masked import Masked
from workshop.workloads.federated.messages import AGGREGATOR, COUNT, UPDATE, Line
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.sent import Sent, silent_ones

ROUNDING = 62  # stream of a seed


class Uplink(Protocol):
    sent: Sent

    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> Gathered:
        """A round's updates. Collective; `updates` and how many `images` are behind each are those of this rank's
        institutions, `chosen` all that learn in the round. Empty on ranks other than the aggregator's."""
        ...


def uplink(ctx: RankContext, line: Line, params: Learning) -> Uplink:
    """The one that a run's params ask for."""
    return Plain(ctx, line, params) if params.secure == "off" else Masked(ctx, line, params)


class Plain:
    """Every institution sends its update so that the aggregator can read it, as it is or compressed."""

    def __init__(self, ctx: RankContext, line: Line, params: Learning) -> None:
        self.ctx, self.line, self.params = ctx, line, params
        self.codec = codec(params, line.parameters)
        self.feedback = Feedback(self.codec)
        self.sent = Sent(ctx, line, params)

    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> Gathered:
        silent = silent_ones(self.params, number, chosen)
        senders = [one for one in chosen if one not in silent]
        with self.ctx.phase("gather"):
            mine = {one: np.array([images[one]], np.int64) for one in updates}
            told = self.line.from_institutions(COUNT, mine, senders)
            counts = {one: int(count[0]) for one, count in told.items()}
        found = arriving(self.ctx, self.line, self.codec.kinds, senders, partial(self._encoded, number, updates))
        read = ((one, self.codec.decode(parts)) for one, parts in found)
        if self.params.rule in ROBUST or UPDATE.empty(self.line.parameters).nbytes * len(senders) <= KEPT:
            together = dict(read)
            with self.ctx.phase("aggregate"):
                gathered = combined(together, counts, self.params)
        else:
            gathered = combined(read, counts, self.params)
        if self.ctx.rank != AGGREGATOR:
            return Gathered()
        self.sent.round(len(senders), silent)
        return replace(gathered, silent=silent)

    def _encoded(self, number: int, updates: Mapping[int, Vector], institution: int) -> Parts:
        return self.feedback.encode(institution, updates[institution], self._chance(number, institution))

    def _chance(self, number: int, institution: int) -> np.random.RandomState:
        """What an institution draws from in a round: the same on whichever rank it lives."""
        return np.random.RandomState([self.params.seed, ROUNDING, number, institution])
