"""Aggregation of updates: means, rules that one wrong update can't move far, and the aggregator's optimizers.

An update is what an institution's training has added to the shared model, float32 [parameters]; its weight is the
number of images behind it. The robust rules take each value of the update by itself: Yin et al. 2018, arXiv:1803.01498,
definitions 1 and 2. With them institutions count alike, however many images each has: weights would let an institution
buy influence by saying that it has many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.params import ROBUST, Learning

Vector = NDArray[np.float32]  # [parameters]
BLOCK = 1 << 16  # values that are looked at together, so that there is never a second copy of all updates


def median(updates: Sequence[Vector]) -> NDArray[np.float64]:
    """The median of each value over at least one update, float64 [parameters]."""
    return _by_blocks(updates, lambda block: np.median(block, axis=0))


def trimmed(updates: Sequence[Vector], trim: int) -> NDArray[np.float64]:
    """The mean of each value without the `trim` largest and smallest; needs more than 2 `trim` updates."""
    if 2 * trim >= len(updates):
        raise ValueError(f"{len(updates)} updates can't be trimmed by {trim} on either side.")
    return _by_blocks(updates, lambda block: np.sort(block, axis=0)[trim : len(block) - trim].mean(axis=0))


def apart(updates: Sequence[Vector]) -> list[float]:
    """The median of each update's distances from at least one other. A few that lie far off don't change it for the
    rest."""
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


Vector = NDArray[np.float32]  # [parameters]
KEPT = 256 << 20  # bytes of a round's updates that are kept to tell how far they are from each other


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
    """The aggregator's part of an algorithm; FedProx differs from FedAvg at the institutions only."""
    return FedAdam(rate) if algorithm == "fedadam" else FedAvg()


def usable(update: Vector) -> bool:
    """Whether an update can be averaged: a single value that is no number would spoil the model for everybody."""
    return bool(np.isfinite(update).all())


class Mean:
    """The weighted mean of updates, added up in the institutions' order as they come, so that none has to be kept."""

    def __init__(self, size: int) -> None:
        self.weight = 0.0
        self._total = np.zeros(size)
        self._spread = 0.0

    def add(self, update: Vector, weight: float) -> None:
        """One more update, with a weight above zero."""
        wide, weight = update.astype(np.float64), float(weight)
        if self.weight:
            apart = wide - self.value
            # Chan, Golub and LeVeque 1983, doi:10.1080/00031305.1983.10483115, equation 1.5: it doesn't cancel.
            self._spread += weight * self.weight / (self.weight + weight) * _square(apart)
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
    """Its length's square, without BLAS, whose threads would get into the way of TensorFlow's."""
    return float(np.square(vector).sum())


@dataclass(frozen=True)
class Drift:
    """How far a round's updates are from each other (`Mean.relative`), and each from the others (`apart`) where all of
    at least three can be kept."""

    relative: float
    distances: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GatheredUpdates:
    """What the aggregator has of a round. `update` is what it goes on with, float64 [parameters], None where there is
    none; `drift` is None where it can't know; `dropped` sent no numbers, `silent` sent nothing."""

    update: NDArray[np.float64] | None = None
    drift: Drift | None = None
    dropped: list[int] = field(default_factory=list)
    silent: list[int] = field(default_factory=list)


def combined(
    found: Mapping[int, Vector] | Iterable[tuple[int, Vector]], counts: Mapping[int, int], params: Learning
) -> GatheredUpdates:
    """What the run's rule makes of the updates that are numbers. `found` has them by institution, or one after the
    other as they arrive; the mean keeps none of them where all together have more than `KEPT` bytes."""
    mean, kept, dropped = None, {}, []
    for one, update in found.items() if isinstance(found, Mapping) else found:
        if not usable(update):
            dropped.append(one)
            continue
        mean = mean or Mean(len(update))
        mean.add(update, counts[one])
        if params.rule in ROBUST or update.nbytes * len(counts) <= KEPT:
            kept[one] = update
    if mean is None:
        return GatheredUpdates(dropped=dropped)
    updates = list(kept.values())
    distances = dict(zip(kept, apart(updates), strict=True)) if len(updates) > 2 else {}
    return GatheredUpdates(_ruled(mean, updates, params), Drift(mean.relative, distances), dropped)


def _ruled(mean: Mean, updates: Sequence[Vector], params: Learning) -> NDArray[np.float64] | None:
    """None where so many were dropped that trimming would leave nothing."""
    if params.rule == "median":
        return median(updates)
    if params.rule == "trimmed":
        return trimmed(updates, params.trim) if len(updates) > 2 * params.trim else None
    return mean.value
