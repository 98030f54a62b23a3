"""Aggregation of updates: means, rules that one wrong update can't move far, and the aggregator's optimizers.

An update is the change of the shared model in an institution's training, float32 [parameters]. Its weight is the number
of images behind it. The robust rules take each value of the update by itself: Yin et al. 2018, arXiv:1803.01498,
definitions 1 and 2. They give all institutions the same weight: otherwise an institution could gain influence by
claiming many images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.params import Learning

Vector = NDArray[np.float32]  # [parameters], all weights of a model in their order, or an update of them
BLOCK = 1 << 16  # values that are computed together, so that memory never holds a second copy of all updates


def median(updates: Sequence[Vector]) -> NDArray[np.float64]:
    """Return the median of each value over at least one update, float64 [parameters]."""
    return _by_blocks(updates, lambda block: np.median(block, axis=0))


def trimmed(updates: Sequence[Vector], trim: int) -> NDArray[np.float64]:
    """Return the mean of each value without the `trim` largest and smallest; needs more than 2 `trim` updates."""
    if 2 * trim >= len(updates):
        raise ValueError(f"{len(updates)} updates can't be trimmed by {trim} on either side.")
    return _by_blocks(updates, lambda block: np.sort(block, axis=0)[trim : len(block) - trim].mean(axis=0))


def median_distances(updates: Sequence[Vector]) -> list[float]:
    """Return the median of each update's distances from the others. A few outliers don't change it for the rest."""
    products = np.zeros((len(updates), len(updates)))
    for block in _blocks(updates):
        products += block @ block.T
    squares = np.diag(products)
    distances = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * products, 0))
    others = distances[~np.eye(len(updates), dtype=bool)].reshape(len(updates), -1)
    return np.median(others, axis=1).tolist()


def _blocks(updates: Sequence[Vector]) -> Iterator[NDArray[np.float64]]:
    for at in range(0, len(updates[0]), BLOCK):
        yield np.stack([update[at : at + BLOCK] for update in updates]).astype(np.float64)


def _by_blocks(
    updates: Sequence[Vector], rule: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    return np.concatenate([rule(block) for block in _blocks(updates)])


class ServerOptimizer(Protocol):
    """Turns the mean of a round's updates into the next shared model."""

    def step(self, model: Vector, update: NDArray[np.float64]) -> Vector: ...


class FedAvg:
    """The mean of the models weighted by images: McMahan et al. 2017, arXiv:1602.05629, algorithm 1."""

    def step(self, model: Vector, update: NDArray[np.float64]) -> Vector:
        return (model + update).astype(np.float32)


class FedAdam:
    """Adam on the mean update u, with v beginning at tau^2: Reddi et al. 2021, arXiv:2003.00295, algorithm 2, which has
    no correction of the first steps' bias."""

    def __init__(self, rate: float, b1: float = 0.9, b2: float = 0.99, tau: float = 1e-3) -> None:
        self.rate, self.b1, self.b2, self.tau = rate, b1, b2, tau
        self._first: NDArray[np.float64] | None = None
        self._second: NDArray[np.float64] | None = None

    def step(self, model: Vector, update: NDArray[np.float64]) -> Vector:
        if self._first is None or self._second is None:
            self._first = np.zeros(len(model))
            self._second = np.full(len(model), self.tau**2)
        self._first = self.b1 * self._first + (1 - self.b1) * update
        self._second = self.b2 * self._second + (1 - self.b2) * update**2
        return (model + self.rate * self._first / (np.sqrt(self._second) + self.tau)).astype(np.float32)


def server(algorithm: str, rate: float) -> ServerOptimizer:
    """Return the aggregator's part of an algorithm. FedProx differs from FedAvg at the institutions only."""
    return FedAdam(rate) if algorithm == "fedadam" else FedAvg()


def usable(update: Vector) -> bool:
    """Return whether an update can be averaged: a single value that is not a number would spoil the shared model."""
    return bool(np.isfinite(update).all())


class Mean:
    """The weighted mean of updates, and how far they are from it."""

    def __init__(self, size: int) -> None:
        self.weight = 0.0
        self._total = np.zeros(size)
        self._spread = 0.0

    def add(self, update: Vector, weight: float) -> None:
        """Add an update with a weight above zero."""
        wide, weight = update.astype(np.float64), float(weight)
        if self.weight:
            difference = wide - self.value
            # Chan, Golub and LeVeque 1983, doi:10.1080/00031305.1983.10483115, equation 1.5: it doesn't cancel.
            self._spread += weight * self.weight / (self.weight + weight) * _square(difference)
        self._total += weight * wide
        self.weight += weight

    @property
    def value(self) -> NDArray[np.float64]:
        """The mean of at least one update, float64 [parameters]."""
        return self._total / self.weight

    @property
    def relative(self) -> float:
        """The root of the weighted mean square of the distances from the mean, over the mean's length: 0 where all go
        the same way, 1 where they differ by as much as they have in common."""
        length = math.sqrt(_square(self.value))
        return math.sqrt(self._spread / self.weight) / length if length > 0 else 0.0


def _square(vector: NDArray[np.float64]) -> float:
    """Return the square of a vector's length, without BLAS, whose threads would compete with TensorFlow's."""
    return float(np.square(vector).sum())


@dataclass(frozen=True)
class Drift:
    """How far a round's updates are from their mean (`Mean.relative`). `distances` has each one's `median_distances`
    from the others; it is empty for fewer than three updates."""

    relative: float
    distances: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GatheredUpdates:
    """A round's updates at the aggregator. `update` is the combined one, float64 [parameters]; None where there is
    none. Institutions in `dropped` sent values that are not numbers; `used` updates are left."""

    update: NDArray[np.float64] | None = None
    drift: Drift | None = None
    dropped: list[int] = field(default_factory=list)
    used: int = 0


def combined(updates: Mapping[int, Vector], counts: Mapping[int, int], params: Learning) -> GatheredUpdates:
    """Combine the updates that are numbers by the run's rule. `updates` and `counts` are by institution."""
    usable_ones = {institution: update for institution, update in updates.items() if usable(update)}
    dropped = [institution for institution in updates if institution not in usable_ones]
    if not usable_ones:
        return GatheredUpdates(dropped=dropped)
    vectors = list(usable_ones.values())
    mean = Mean(len(vectors[0]))
    for institution, update in usable_ones.items():
        mean.add(update, counts[institution])
    distances = dict(zip(usable_ones, median_distances(vectors), strict=True)) if len(vectors) > 2 else {}
    return GatheredUpdates(_ruled(mean, vectors, params), Drift(mean.relative, distances), dropped, len(vectors))


def _ruled(mean: Mean, updates: Sequence[Vector], params: Learning) -> NDArray[np.float64] | None:
    """Apply the run's rule; return None where trimming would leave nothing."""
    if params.rule == "median":
        return median(updates)
    if params.rule == "trimmed":
        return trimmed(updates, params.trim) if len(updates) > 2 * params.trim else None
    return mean.value
