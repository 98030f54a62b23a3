"""What poisons and what protects a way of learning, in the order in which a round comes to it: an institution's
batches, its update before it is sent, and what the aggregator goes on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated import messages, poison, private, reading
from workshop.workloads.federated.accounting import Ledger
from workshop.workloads.federated.aggregate import Gathered, Vector
from workshop.workloads.federated.private import PrivateLearner
from workshop.workloads.federated.rank import Guarded, Rank

EVERYBODY = -1  # in the ledger: whichever institution it is


class Guard:
    """One rank's part in that. Without attack and privacy everything passes as it is."""

    def __init__(self, rank: Rank, images: Sequence[int]) -> None:
        """`images` are those that each institution learns from."""
        self.rank, self.params, self._images = rank, rank.params, images
        self._poisoned = frozenset(poison.attackers(rank.params))
        self._cut: dict[int, tuple[float, float]] = {}
        self._ledger = Ledger(rank.params.noise, rank.params.delta)

    def order(self, number: int, one: int) -> list[NDArray[np.int64]]:
        """The batches that an institution reads in a round."""
        params, learner, count = self.params, self.rank.learner, self._images[one]
        if not isinstance(learner, PrivateLearner):
            return self.rank.order(number, one)
        noise = private.stream([params.seed, private.IMAGES_NOISE, number, one])
        learner.begin(count * reading.share(count, params.batch), noise)
        seed = (params.seed, number, one)
        return reading.sampled(count, params.batch, epochs=params.epochs, steps=params.steps, seed=seed)

    def outgoing(self, one: int, update: Vector) -> Vector:
        """What an institution sends: poisoned first, as its owner wills, then clipped, as everybody's is."""
        if one in self._poisoned:
            update = poison.update(update, self.params)
        if self.params.privacy == "institutions":
            update, cut = private.clipped(update, self.params.clip)
            self._cut[one] = float(cut), 1.0
        elif isinstance(self.rank.learner, PrivateLearner):
            self._cut[one] = self.rank.learner.cut
        return update

    def weights(self, images: Mapping[int, int]) -> Mapping[int, int]:
        """How much each update counts: as many times as there are images behind it, or all alike, so that the clip
        bounds what each can do."""
        return dict.fromkeys(images, 1) if self.params.privacy == "institutions" else images

    def incoming(self, number: int, gathered: Gathered, chosen: Sequence[int]) -> NDArray[np.float64] | None:
        """The update that the aggregator goes on with, on its rank: where institutions are private, with noise, also
        where nobody was drawn."""
        params = self.params
        if params.privacy != "institutions" or not self.rank.here:
            return gathered.update
        mean = np.zeros(self.rank.line.parameters) if gathered.update is None else gathered.update
        used = len(chosen) - len(gathered.dropped) - len(gathered.silent)
        expected = params.participation * params.institutions
        seed = [params.seed, private.AGGREGATOR_NOISE, number]
        return private.noised(mean, used, expected, params.noise * params.clip, seed)

    def told(self, chosen: Sequence[int]) -> Guarded:
        """What there is to tell of a round, on the aggregator's rank. Collective."""
        if self.params.privacy == "none":
            return Guarded()
        mine = {one: np.array(cut) for one, cut in self._cut.items()}
        found = self.rank.line.from_institutions(messages.CUT, mine, chosen)
        self._cut = {}
        if not self.rank.here:
            return Guarded()
        cut, of = np.sum(list(found.values()), axis=0) if found else (0.0, 0.0)
        epsilons = self._epsilons(chosen) if self.params.noise else {}
        return Guarded(
            max(epsilons.values(), default=None),
            {one: epsilon for one, epsilon in epsilons.items() if one != EVERYBODY},
            float(cut / of) if of else None,
        )

    def _epsilons(self, chosen: Sequence[int]) -> dict[int, float]:
        """Of institutions one for all: whether somebody was drawn is unknown. Of images one for each institution, which
        knows in which rounds it learned."""
        params, ledger = self.params, self._ledger
        if params.privacy == "institutions":
            ledger.spend(EVERYBODY, params.participation)
            return {EVERYBODY: ledger.epsilon(EVERYBODY)}
        for one in chosen:
            count = self._images[one]
            steps = reading.length(count, params.batch, epochs=params.epochs, steps=params.steps)
            ledger.spend(one, reading.share(count, params.batch), steps)
        return {one: ledger.epsilon(one) for one in range(params.institutions)}
