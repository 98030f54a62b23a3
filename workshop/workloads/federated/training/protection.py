"""Attack and defence on a rank: poisoned labels and updates, clipping and noise."""

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
    """Return the poisoned institutions of a run; none without an attack."""
    if not params.attacked:
        return []
    return sorted(order(params.institutions, [params.seed, POISONED])[: params.attackers].tolist())


def flipped(labels: Labels, classes: int) -> Labels:
    """Return wrong labels: class l becomes `classes` - 1 - l (Fang et al. 2020, arXiv:1911.11815, section 4.1); a mask
    is inverted."""
    if np.issubdtype(labels.dtype, np.integer):
        return (classes - 1 - labels).astype(labels.dtype)
    return (1 - labels).astype(labels.dtype)


def poisoned_silo(silo: Silo, classes: int) -> Silo:
    """Return an institution's images with wrong labels for training and right ones for validation."""
    return dataclasses.replace(silo, labels=flipped(silo.labels, classes))


def poisoned_update(update: Vector, params: ProtectionParams) -> Vector:
    """Return the update that a poisoned institution sends in place of this one."""
    if params.attack == "scale":
        return (params.boost * update.astype(np.float64)).astype(np.float32)
    if params.attack == "nan":
        return np.full_like(update, np.nan)
    return update


EVERYBODY = -1  # the ledger's account for all institutions together


class Protection:
    """One rank's part in attack and defence. Without attack and privacy it changes nothing."""

    def __init__(self, rank: Rank, images: Sequence[int]) -> None:
        """`images` has the number of images that each institution learns from."""
        self.rank, self.params, self._images = rank, rank.params, images
        self._poisoned = frozenset(attackers(rank.params))
        self._cut: dict[int, tuple[float, float]] = {}
        self._ledger = Ledger(rank.params.noise, rank.params.delta)

    def order(self, number: int, institution: int) -> list[NDArray[np.int64]]:
        """Return the batches that an institution reads in a round."""
        params, learner, count = self.params, self.rank.learner, self._images[institution]
        if not isinstance(learner, PrivateLearner):
            return self.rank.order(number, institution)
        noise = privacy.stream([params.seed, privacy.IMAGES_NOISE, number, institution])
        learner.begin(count * sampling.share(count, params.batch), noise)
        seed = (params.seed, number, institution)
        return sampling.sampled(count, params.batch, epochs=params.epochs, steps=params.steps, seed=seed)

    def outgoing(self, institution: int, update: Vector) -> Vector:
        """Return the update that an institution sends: poisoned by an attacker, then clipped."""
        if institution in self._poisoned:
            update = poisoned_update(update, self.params)
        if self.params.privacy == "institutions":
            update, cut = privacy.clipped(update, self.params.clip)
            self._cut[institution] = float(cut), 1.0
        elif isinstance(self.rank.learner, PrivateLearner):
            self._cut[institution] = self.rank.learner.cut
        return update

    def weights(self, images: Mapping[int, int]) -> Mapping[int, int]:
        """Return the weights of updates: their images; with privacy of institutions 1, so that the clip bounds each."""
        return dict.fromkeys(images, 1) if self.params.privacy == "institutions" else images

    def incoming(self, number: int, gathered: GatheredUpdates, chosen: Sequence[int]) -> NDArray[np.float64] | None:
        """Return the aggregator's update on its rank, with noise where institutions are private."""
        params = self.params
        if params.privacy != "institutions" or not self.rank.here:
            return gathered.update
        mean = np.zeros(self.rank.channel.parameters) if gathered.update is None else gathered.update
        used = len(chosen) - len(gathered.dropped) - len(gathered.silent)
        expected = params.participation * params.institutions
        seed = [params.seed, privacy.AGGREGATOR_NOISE, number]
        return privacy.noised(mean, used, expected, params.noise * params.clip, seed)

    def spent(self, chosen: Sequence[int]) -> PrivacySpent:
        """Return the privacy that a round has spent, on the aggregator's rank. Collective."""
        if self.params.privacy == "none":
            return PrivacySpent()
        outgoing = {institution: np.array(cut) for institution, cut in self._cut.items()}
        received = self.rank.channel.from_institutions(messages.CUT, outgoing, chosen)
        self._cut = {}
        if not self.rank.here:
            return PrivacySpent()
        cut, total = np.sum(list(received.values()), axis=0) if received else (0.0, 0.0)
        epsilons = self._epsilons(chosen) if self.params.noise else {}
        return PrivacySpent(
            max(epsilons.values(), default=None),
            {institution: epsilon for institution, epsilon in epsilons.items() if institution != EVERYBODY},
            float(cut / total) if total else None,
        )

    def _epsilons(self, chosen: Sequence[int]) -> dict[int, float]:
        """Return one epsilon for all institutions, since the drawn ones are secret; or one for each one's images."""
        params, ledger = self.params, self._ledger
        if params.privacy == "institutions":
            ledger.spend(EVERYBODY, params.participation)
            return {EVERYBODY: ledger.epsilon(EVERYBODY)}
        for institution in chosen:
            count = self._images[institution]
            steps = sampling.length(count, params.batch, epochs=params.epochs, steps=params.steps)
            ledger.spend(institution, sampling.share(count, params.batch), steps)
        return {institution: ledger.epsilon(institution) for institution in range(params.institutions)}
