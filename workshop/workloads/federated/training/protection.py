"""Attack and defence on a rank: what a poisoned institution does, and how clipping and noise protect the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.shards import order
from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.mathematics import privacy, sampling
from workshop.workloads.federated.mathematics.aggregation import GatheredUpdates, Vector
from workshop.workloads.federated.mathematics.privacy import Ledger
from workshop.workloads.federated.params import Learning, ProtectionParams
from workshop.workloads.federated.training.learner import PrivateLearner
from workshop.workloads.federated.training.rank import PrivacySpent, Rank
from workshop.workloads.federated.training.task import Labels, Silo

POISONED = 71  # stream of a seed


def attackers(params: Learning) -> list[int]:
    """The institutions that are poisoned, drawn once for a run; none without an attack."""
    if not params.attacked:
        return []
    return sorted(order(params.institutions, [params.seed, POISONED])[: params.attackers].tolist())


def flipped(labels: Labels, classes: int) -> Labels:
    """Wrong labels: class l becomes `classes` - 1 - l (Fang et al. 2020, arXiv:1911.11815, section 4.1), a mask its
    opposite."""
    if np.issubdtype(labels.dtype, np.integer):
        return (classes - 1 - labels).astype(labels.dtype)
    return (1 - labels).astype(labels.dtype)


def poisoned_silo(own: Silo, classes: int) -> Silo:
    """An institution that learns from wrong labels; those that it validates with are right."""
    return dataclasses.replace(own, labels=flipped(own.labels, classes))


def poisoned_update(own: Vector, params: ProtectionParams) -> Vector:
    """What a poisoned institution sends in place of its own update."""
    if params.attack == "scale":
        return (params.boost * own.astype(np.float64)).astype(np.float32)
    if params.attack == "nan":
        return np.full_like(own, np.nan)
    return own


EVERYBODY = -1  # in the ledger: whichever institution it is


class Protection:
    """One rank's part in that. Without attack and privacy everything passes as it is."""

    def __init__(self, rank: Rank, images: Sequence[int]) -> None:
        """`images` are those that each institution learns from."""
        self.rank, self.params, self._images = rank, rank.params, images
        self._poisoned = frozenset(attackers(rank.params))
        self._cut: dict[int, tuple[float, float]] = {}
        self._ledger = Ledger(rank.params.noise, rank.params.delta)

    def order(self, number: int, one: int) -> list[NDArray[np.int64]]:
        """The batches that an institution reads in a round."""
        params, learner, count = self.params, self.rank.learner, self._images[one]
        if not isinstance(learner, PrivateLearner):
            return self.rank.order(number, one)
        noise = privacy.stream([params.seed, privacy.IMAGES_NOISE, number, one])
        learner.begin(count * sampling.share(count, params.batch), noise)
        seed = (params.seed, number, one)
        return sampling.sampled(count, params.batch, epochs=params.epochs, steps=params.steps, seed=seed)

    def outgoing(self, one: int, update: Vector) -> Vector:
        """What an institution sends: poisoned first, as its owner wills, then clipped, as everybody's is."""
        if one in self._poisoned:
            update = poisoned_update(update, self.params)
        if self.params.privacy == "institutions":
            update, cut = privacy.clipped(update, self.params.clip)
            self._cut[one] = float(cut), 1.0
        elif isinstance(self.rank.learner, PrivateLearner):
            self._cut[one] = self.rank.learner.cut
        return update

    def weights(self, images: Mapping[int, int]) -> Mapping[int, int]:
        """How much each update counts: by its images, or all alike, so that the clip bounds what each can do."""
        return dict.fromkeys(images, 1) if self.params.privacy == "institutions" else images

    def incoming(self, number: int, gathered: GatheredUpdates, chosen: Sequence[int]) -> NDArray[np.float64] | None:
        """The update that the aggregator goes on with, on its rank; with noise where institutions are private."""
        params = self.params
        if params.privacy != "institutions" or not self.rank.here:
            return gathered.update
        mean = np.zeros(self.rank.channel.parameters) if gathered.update is None else gathered.update
        used = len(chosen) - len(gathered.dropped) - len(gathered.silent)
        expected = params.participation * params.institutions
        seed = [params.seed, privacy.AGGREGATOR_NOISE, number]
        return privacy.noised(mean, used, expected, params.noise * params.clip, seed)

    def told(self, chosen: Sequence[int]) -> PrivacySpent:
        """What there is to tell of a round, on the aggregator's rank. Collective."""
        if self.params.privacy == "none":
            return PrivacySpent()
        mine = {one: np.array(cut) for one, cut in self._cut.items()}
        found = self.rank.channel.from_institutions(messages.CUT, mine, chosen)
        self._cut = {}
        if not self.rank.here:
            return PrivacySpent()
        cut, of = np.sum(list(found.values()), axis=0) if found else (0.0, 0.0)
        epsilons = self._epsilons(chosen) if self.params.noise else {}
        return PrivacySpent(
            max(epsilons.values(), default=None),
            {one: epsilon for one, epsilon in epsilons.items() if one != EVERYBODY},
            float(cut / of) if of else None,
        )

    def _epsilons(self, chosen: Sequence[int]) -> dict[int, float]:
        """One epsilon for all institutions, since nobody knows who was drawn; or one for each institution's images."""
        params, ledger = self.params, self._ledger
        if params.privacy == "institutions":
            ledger.spend(EVERYBODY, params.participation)
            return {EVERYBODY: ledger.epsilon(EVERYBODY)}
        for one in chosen:
            count = self._images[one]
            steps = sampling.length(count, params.batch, epochs=params.epochs, steps=params.steps)
            ledger.spend(one, sampling.share(count, params.batch), steps)
        return {one: ledger.epsilon(one) for one in range(params.institutions)}
