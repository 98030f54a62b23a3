"""Secure aggregation: the aggregator learns the sum of a round's updates, and nothing of any single one.

A round goes like this, after everybody has agreed on secrets with everybody else once:

1. Each institution writes its update, times its images, as whole numbers, and masks them for all who learn in the
   round. An update that is no number can't be masked: its institution says so and sends none.
2. The aggregator adds up what comes, and tells who is missing.
3. Where somebody is, the others reveal the seeds of the round's masks which they share with it, and the aggregator
   takes these masks out of the sum.
4. The check in the sum tells whether all masks are gone.

Weights have to be in the numbers before they are masked. `unequal` is the mistake of weighting afterwards: a mask that
was added as often as there are images here and taken away as often as there are there is still in the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import WorkshopError
from workshop.engine.context import RankContext
from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.communication.messages import AGGREGATOR, BESIDE, KEY, InstitutionChannel, home
from workshop.workloads.federated.communication.transmission import Parts, Uplink, arriving, silent_ones
from workshop.workloads.federated.mathematics import secure_sum
from workshop.workloads.federated.mathematics.aggregation import GatheredUpdates, Vector
from workshop.workloads.federated.mathematics.secure_sum import Member, Words, mask, private_key
from workshop.workloads.federated.params import Learning

FEWEST = 3  # updates in a sum that is opened: of two, each would learn the other's

Seeds = Mapping[tuple[int, int], bytes]  # by who revealed it, and with whom it was shared


class SecureUplink(Uplink):
    """Every institution hides its update behind masks that cancel in the sum."""

    def __init__(
        self, ctx: RankContext, channel: InstitutionChannel, params: Learning, draw: Callable[[int], int] | None = None
    ) -> None:
        """`draw` gives an institution's private key where a test wants a certain one."""
        super().__init__(ctx, channel, params)
        self.here = ctx.rank == AGGREGATOR
        self.wrong = params.secure == "unequal"
        self.members: dict[int, Member] = {}  # those who live on this rank
        self.agreed = False
        self._kind = messages.masked(channel.parameters)
        self._draw = draw or (lambda institution: private_key())

    def gather(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int]
    ) -> GatheredUpdates:
        if not self.agreed:
            self._agree()
        silent = silent_ones(self.params, number, chosen)
        asked = [one for one in chosen if one not in silent]
        states = {one: secure_sum.readiness(update) for one, update in updates.items() if one in asked}
        with self.ctx.phase("gather"):
            mine = {one: np.array([known], np.uint8) for one, known in states.items()}
            said = self.channel.from_institutions(messages.READY, mine, asked)
            states |= {one: int(known[0]) for one, known in said.items()}
            able = [one for one in asked if states.get(one) == secure_sum.READY]  # elsewhere those who live there
            times = self._times(able, images)
        hidden = partial(self._hidden, number, updates, images, chosen)
        total = self._sum(number, arriving(self.ctx, self.channel, [self._kind], able, hidden), times)
        with self.ctx.phase("gather"):
            seeds = self._revealed(number, able, [one for one in chosen if one not in able])
        with self.ctx.phase("aggregate"):
            if not self.here:
                return GatheredUpdates()
            update = self._opened(number, total, times, seeds) if len(able) >= FEWEST else None
            for one in asked:
                self.sent.too_large[one] += int(states[one] == secure_sum.TOO_LARGE)
            self.sent.too_few += int(update is None)
            self.sent.round(len(able), silent)
            return GatheredUpdates(update, dropped=[one for one in asked if one not in able], silent=silent)

    def _agree(self) -> None:
        """Public keys go up, and all of them come down to everybody. Secrets are made of them when a pair meets."""
        everybody = range(self.params.institutions)
        with self.ctx.phase("encode"):
            living = [one for one in everybody if home(one, self.ctx.size) == self.ctx.rank]
            self.members = {one: Member(one, self._draw(one)) for one in living}
        with self.ctx.phase("gather"):
            keys = {one: np.frombuffer(member.public, np.uint8) for one, member in self.members.items()}
            found = self.channel.from_institutions(messages.PUBLIC_KEY, keys, everybody)
            together = np.concatenate([found[one] for one in everybody]) if self.here else None
            told = self.channel.to_institutions(messages.public_keys(len(everybody)), together, len(everybody))
        with self.ctx.phase("encode"):
            known = {one: told[one * KEY : (one + 1) * KEY].tobytes() for one in everybody}
            for member in self.members.values():
                member.meet({one: key for one, key in known.items() if one != member.number})
        self.agreed = True

    def _times(self, able: Sequence[int], images: Mapping[int, int]) -> dict[int, int]:
        """What the aggregator multiplies the words of each institution by: 1, but where that is done wrong."""
        if not self.wrong:
            return dict.fromkeys(able, 1)
        mine = {one: np.array([count], np.int64) for one, count in images.items()}
        return {one: int(count[0]) for one, count in self.channel.from_institutions(messages.COUNT, mine, able).items()}

    def _hidden(
        self, number: int, updates: Mapping[int, Vector], images: Mapping[int, int], chosen: Sequence[int], one: int
    ) -> Parts:
        words = secure_sum.encode(updates[one], 1 if self.wrong else images[one])
        return {self._kind.name: self.members[one].masked(words, number, chosen)}

    def _sum(self, number: int, found: Iterable[tuple[int, Parts]], times: Mapping[int, int]) -> Words:
        """Of all that comes, masks and all. One message is looked at, for the picture of what can be seen of it."""
        total = np.zeros(self.channel.parameters + BESIDE, np.uint64)
        for one, parts in found:
            words = parts[self._kind.name]
            total += words * np.uint64(times[one])
            if self.sent.seen is None or self.sent.seen["sum"] is None:
                message = secure_sum.histogram(words)
                self.sent.seen = {"round": number, "institution": one + 1, "message": message, "sum": None}
        return total

    def _revealed(self, number: int, able: Sequence[int], gone: Sequence[int]) -> Seeds:
        """The seeds that those who sent share with those who didn't, on the aggregator's rank; none where the sum can't
        be opened anyway. Elsewhere `able` are those who live there."""
        institutions = self.params.institutions
        flags = np.zeros(institutions, np.uint8)
        if self.here and len(able) >= FEWEST:
            flags[list(gone)] = 1
        asked_for = messages.missing(institutions)
        told = self.channel.to_institutions(asked_for, flags if self.here else None, len(able))
        found: dict[tuple[int, int], bytes] = {}
        for other in np.flatnonzero(told).tolist():
            mine = {
                one: np.frombuffer(self.members[one].seed(other, number), np.uint8)
                for one in able
                if one in self.members
            }
            came = self.channel.from_institutions(messages.PAIR_SEED, mine, able)
            found |= {(one, other): seed.tobytes() for one, seed in came.items()}
        self.sent.seeds += len(found)
        return found

    def _opened(self, number: int, total: Words, times: Mapping[int, int], seeds: Seeds) -> NDArray[np.float64]:
        """The weighted mean of the updates that came. Raises WorkshopError where masks are left in it."""
        for (one, other), seed in seeds.items():
            total -= mask(one, other, seed, len(total)) * np.uint64(times[one])
        found = secure_sum.decode(total)
        if self.sent.seen is not None and self.sent.seen["sum"] is None:
            self.sent.seen |= {"sum": secure_sum.histogram(total[:-BESIDE]), "updates": len(times)}
        if self.wrong:
            self.sent.uncancelled += int(not found.cancelled)
            return found.mean(sum(times.values()))
        if not found.cancelled:
            raise WorkshopError(
                f"The masks of round {number} don't cancel, so the sum of its updates is noise: an institution has "
                "masked otherwise than was agreed, or a message was changed on its way; start the run again, or take "
                "secure off."
            )
        return found.mean()
