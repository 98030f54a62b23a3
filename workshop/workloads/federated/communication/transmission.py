"""Ways to send updates to the aggregator, and the counts of what was sent, for the metric `sending`.

An uplink's `gather` is collective and collects a round's updates. Updates arrive one after the other: each is encoded
in its turn, and dropped once the aggregator has added it up, so that memory doesn't grow with the institutions.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import WorkshopError
from workshop.engine.context import RankContext
from workshop.engine.data.shards import order
from workshop.workloads.federated.communication import messages
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
from workshop.workloads.federated.mathematics import secure_sum
from workshop.workloads.federated.mathematics.aggregation import MEMORY_LIMIT, GatheredUpdates, Vector, combined
from workshop.workloads.federated.mathematics.secure_sum import BESIDE, KEY, Member, Words, mask, private_key
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


FEWEST = 3  # updates in a sum that is opened: with two, each institution could compute the other's

Seeds = Mapping[tuple[int, int], bytes]  # by the institution that revealed it, and the missing one


class SecureUplink(Uplink):
    """Secure aggregation: the aggregator learns the sum of a round's updates, and nothing about a single update.

    At the beginning of a run, each pair of institutions agrees on a secret. Then, in each round:

    1. Each institution multiplies its update by its number of images, writes it as whole numbers, and adds a mask for
       each other institution of the round. An update that is not a number can't be masked: its institution says so and
       sends none.
    2. The aggregator adds up the masked updates, and announces which institutions are missing.
    3. For each missing institution, the others reveal the seeds of the masks that they share with it, in this round
       only. The aggregator subtracts these masks from the sum.
    4. The check in the sum shows whether all masks are gone.

    Updates have to be weighted before they are masked. `unequal` is the mistake of weighting afterwards: the two masks
    of a pair are then multiplied by different numbers of images, and don't cancel.
    """

    def __init__(
        self, ctx: RankContext, channel: InstitutionChannel, params: Learning, draw: Callable[[int], int] | None = None
    ) -> None:
        """`draw` returns an institution's private key; tests set it."""
        super().__init__(ctx, channel, params)
        self.here = ctx.rank == AGGREGATOR
        self.wrong = params.secure == "unequal"
        self.members: dict[int, Member] = {}  # the institutions of this rank
        self.agreed = False
        self._kind = messages.masked(channel.parameters)
        self._draw = draw or (lambda institution: private_key())

    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> GatheredUpdates:
        if not self.agreed:
            self._agree()
        silent = silent_ones(self.params, number, chosen)
        senders = [institution for institution in chosen if institution not in silent]
        states = {sender: secure_sum.readiness(updates[sender]) for sender in senders if sender in updates}
        with self.ctx.phase("gather"):
            states |= self.channel.numbers(messages.READY, states, senders)
            # On other ranks than the aggregator's: only the institutions of that rank.
            able = [sender for sender in senders if states.get(sender) == secure_sum.READY]
            times = self._times(able, images)
        hidden = partial(self._hidden, number, updates, images, chosen)
        total = self._sum(number, arriving(self.ctx, self.channel, [self._kind], able, hidden), times)
        with self.ctx.phase("gather"):
            seeds = self._revealed(number, able, [institution for institution in chosen if institution not in able])
        with self.ctx.phase("aggregate"):
            if not self.here:
                return GatheredUpdates()
            update = self._opened(number, total, times, seeds) if len(able) >= FEWEST else None
            for sender in senders:
                self.sent.too_large[sender] += int(states[sender] == secure_sum.TOO_LARGE)
            self.sent.too_few += int(update is None)
            self.sent.round(len(able), silent)
            return GatheredUpdates(update, dropped=[sender for sender in senders if sender not in able], silent=silent)

    def _agree(self) -> None:
        """Send all public keys to all institutions. Pairs compute their secrets when they first need them."""
        everybody = range(self.params.institutions)
        with self.ctx.phase("encode"):
            living = [institution for institution in everybody if home(institution, self.ctx.size) == self.ctx.rank]
            self.members = {institution: Member(institution, self._draw(institution)) for institution in living}
        with self.ctx.phase("gather"):
            keys = {institution: np.frombuffer(member.public, np.uint8) for institution, member in self.members.items()}
            received = self.channel.from_institutions(messages.PUBLIC_KEY, keys, everybody)
            together = np.concatenate([received[institution] for institution in everybody]) if self.here else None
            all_keys = self.channel.to_institutions(messages.public_keys(len(everybody)), together, len(everybody))
        with self.ctx.phase("encode"):
            public_keys = dict(enumerate(key.tobytes() for key in all_keys.reshape(-1, KEY)))
            for member in self.members.values():
                member.meet({number: key for number, key in public_keys.items() if number != member.number})
        self.agreed = True

    def _times(self, able: Sequence[int], images: Mapping[int, int]) -> dict[int, int]:
        """Return the factor of each institution's words at the aggregator: 1; for `unequal`, its number of images."""
        if not self.wrong:
            return dict.fromkeys(able, 1)
        return self.channel.numbers(messages.COUNT, images, able)

    def _hidden(
        self,
        number: int,
        updates: Mapping[int, Vector],
        images: Mapping[int, int],
        chosen: Sequence[int],
        institution: int,
    ) -> Parts:
        words = secure_sum.encode(updates[institution], 1 if self.wrong else images[institution])
        return {self._kind.name: self.members[institution].masked(words, number, chosen)}

    def _sum(self, number: int, arrivals: Iterable[tuple[int, Parts]], times: Mapping[int, int]) -> Words:
        """Return the sum of all masked updates. The first one's histogram is kept for the page."""
        total = np.zeros(self.channel.parameters + BESIDE, np.uint64)
        for institution, parts in arrivals:
            words = parts[self._kind.name]
            total += words * np.uint64(times[institution])
            if self.sent.seen is None or self.sent.seen["sum"] is None:
                message = secure_sum.histogram(words)
                self.sent.seen = {"round": number, "institution": institution + 1, "message": message, "sum": None}
        return total

    def _revealed(self, number: int, able: Sequence[int], gone: Sequence[int]) -> Seeds:
        """Return the seeds that senders (`able`) share with missing institutions (`gone`), on the aggregator's rank;
        none where too few sent. On other ranks `able` has that rank's institutions only."""
        institutions = self.params.institutions
        flags = np.zeros(institutions, np.uint8)
        if self.here and len(able) >= FEWEST:
            flags[list(gone)] = 1
        kind = messages.missing(institutions)
        missing = self.channel.to_institutions(kind, flags if self.here else None, len(able))
        seeds: dict[tuple[int, int], bytes] = {}
        for other in np.flatnonzero(missing).tolist():
            outgoing = {
                institution: np.frombuffer(self.members[institution].seed(other, number), np.uint8)
                for institution in able
                if institution in self.members
            }
            received = self.channel.from_institutions(messages.PAIR_SEED, outgoing, able)
            seeds |= {(institution, other): seed.tobytes() for institution, seed in received.items()}
        self.sent.seeds += len(seeds)
        return seeds

    def _opened(self, number: int, total: Words, times: Mapping[int, int], seeds: Seeds) -> NDArray[np.float64]:
        """Return the weighted mean of the updates. Raises WorkshopError where masks are left in the sum."""
        for (institution, other), seed in seeds.items():
            total -= mask(institution, other, seed, len(total)) * np.uint64(times[institution])
        decoded = secure_sum.decode(total)
        if self.sent.seen is not None and self.sent.seen["sum"] is None:
            self.sent.seen |= {"sum": secure_sum.histogram(total[:-BESIDE]), "updates": len(times)}
        if self.wrong:
            self.sent.uncancelled += int(not decoded.cancelled)
            return decoded.mean(sum(times.values()))
        if not decoded.cancelled:
            raise WorkshopError(
                f"The masks of round {number} don't cancel, so the sum of its updates is noise: an institution has "
                "masked otherwise than was agreed, or a message was changed on its way; start the run again, or take "
                "secure off."
            )
        return decoded.mean()


def uplink(ctx: RankContext, channel: InstitutionChannel, params: Learning) -> Uplink:
    """Return the way to send updates that a run's params ask for."""
    kind = PlainUplink if params.secure == "off" else SecureUplink
    return kind(ctx, channel, params)
