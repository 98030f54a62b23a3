"""Attack and defence on a rank: poisoned updates, clipping and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data import order
from workshop.workloads.federated.mathematics import aggregation
from workshop.workloads.federated.mathematics.aggregation import GatheredUpdates, Vector
from workshop.workloads.federated.messages import CLIPPED
from workshop.workloads.federated.params import BOOST, Learning
from workshop.workloads.federated.training.rank import Rank

POISONED = 71  # stream of a seed


def attackers(params: Learning) -> list[int]:
    """Return the poisoned institutions of a run; none without an attack."""
    if not params.attacked:
        return []
    return sorted(order(params.institutions, [params.seed, POISONED])[: params.attackers].tolist())


class Protection:
    """One rank's part in attack and defence. Without attack and privacy it changes nothing."""

    def __init__(self, rank: Rank) -> None:
        self.rank, self.params = rank, rank.params
        self.private = rank.params.privacy != "none"
        self._poisoned = frozenset(attackers(rank.params))
        self._cut: dict[int, int] = {}  # 1 where an update of this round was clipped

    def outgoing(self, institution: int, update: Vector) -> Vector:
        """Return the update that an institution sends: poisoned by an attacker, then clipped."""
        if institution in self._poisoned:
            update = (BOOST * update.astype(np.float64)).astype(np.float32)
        if self.private:
            update, cut = aggregation.clipped(update, self.params.clip)
            self._cut[institution] = int(cut)
        return update

    def weights(self, images: Mapping[int, int]) -> Mapping[int, int]:
        """Return the weights of updates: their images; with privacy 1, so that the clip bounds each."""
        return dict.fromkeys(images, 1) if self.private else images

    def incoming(self, number: int, gathered: GatheredUpdates) -> NDArray[np.float64] | None:
        """Return the aggregator's update on its rank, with noise where institutions are private."""
        params = self.params
        if not self.private or not self.rank.here:
            return gathered.update
        mean = np.zeros(self.rank.channel.parameters) if gathered.update is None else gathered.update
        expected = params.participation * params.institutions
        seed = [params.seed, aggregation.NOISE, number]
        return aggregation.noised(mean, gathered.used, expected, params.noise * params.clip, seed)

    def spent(self, number: int, chosen: Sequence[int]) -> tuple[float | None, float | None]:
        """Return the epsilon of all rounds so far, and the share of this round's updates that were clipped; None where
        there is none, and on other ranks than the aggregator's. Collective."""
        params = self.params
        if not self.private:
            return None, None
        cut = self.rank.channel.numbers(CLIPPED, self._cut, chosen)
        self._cut = {}
        if not self.rank.here:
            return None, None
        spent = aggregation.epsilon(params.noise, params.delta, params.participation, number) if params.noise else None
        return spent, sum(cut.values()) / len(cut) if cut else None
