"""What is told of attack and defence: who lies far from the others, what was clipped, what noise promises."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from workshop.workloads.federated import poison
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.rank import Round

DISTANCE, EPSILON, CLIPPED = "distance", "epsilon", "clipped"


def of_institution(number: int, what: str) -> str:
    """The event that tells something else than a score of one institution, counted from 0 here."""
    return f"institution {number + 1} {what}"


class GuardTelling:
    """Of the first way, by round: `institution N distance`, how far its update lies from the others'; with privacy
    `clipped`, a share, and with noise `epsilon` so far, the largest of all, and `institution N epsilon` where
    institutions have one of their own."""

    def __init__(self, params: Learning) -> None:
        self.params = params
        self._apart: dict[int, list[float]] = defaultdict(list)  # over the median of the round's
        self._clipped: list[float] = []
        self._epsilon: float | None = None
        self._epsilons: dict[int, float] = {}

    def round(self, came: Round) -> Iterator[tuple[str, float]]:
        """The events of a round, by name."""
        distances = came.drift.distances if came.drift is not None else {}
        middle = float(np.median(list(distances.values()))) if distances else 0.0
        for one, distance in distances.items():
            yield of_institution(one, DISTANCE), distance
            if middle > 0:
                self._apart[one].append(distance / middle)
        guarded = came.guarded
        if guarded.clipped is not None:
            self._clipped.append(guarded.clipped)
            yield CLIPPED, guarded.clipped
        if guarded.epsilon is not None:
            self._epsilon, self._epsilons = guarded.epsilon, dict(guarded.epsilons)
            yield EPSILON, guarded.epsilon
            for one, epsilon in guarded.epsilons.items():
                yield of_institution(one, EPSILON), epsilon

    def of(self, one: int) -> dict[str, Any]:
        """Of an institution: the median over rounds of its distance, in units of the one in the middle."""
        apart = {DISTANCE: float(np.median(self._apart[one]))} if one in self._apart else {}
        return apart | ({EPSILON: self._epsilons[one]} if one in self._epsilons else {})

    def results(self) -> dict[str, Any]:
        """Metrics of all rounds; who was poisoned is told now, not before."""
        found: dict[str, Any] = {"rule": self.params.rule} if self.params.guarded else {}
        if self.params.attacked:
            found["attackers"] = [one + 1 for one in poison.attackers(self.params)]
        if self.params.privacy != "none":
            told = self._epsilon is not None and math.isfinite(self._epsilon)
            found[EPSILON] = self._epsilon if told else None
            found[CLIPPED] = float(np.mean(self._clipped)) if self._clipped else None
        return found
