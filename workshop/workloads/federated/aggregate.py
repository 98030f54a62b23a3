"""What the aggregator does with updates: arithmetic on flat vectors, in NumPy.

An update is what an institution's training has added to the shared model, float32 [parameters]; its weight is the
number of images behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated import robust
from workshop.workloads.federated.guarding import ROBUST
from workshop.workloads.federated.params import Learning

Vector = NDArray[np.float32]  # [parameters]
KEPT = 256 << 20  # bytes of a round's updates that are kept to tell how far they are from each other


class Server(Protocol):
    """Turns the mean of a round's updates into the next shared model."""

    def step(self, model: Vector, update: NDArray[np.float64]) -> Vector: ...


class FedAvg:
    """w + sum of n_k / n (w_k - w), which is the mean of the institutions' models weighted by their images: McMahan et
    al. 2017, arXiv:1602.05629, algorithm 1."""

    def step(self, model: Vector, update: NDArray[np.float64]) -> Vector:
        return (model + update).astype(np.float32)


class FedAdam:
    """m = b1 m + (1 - b1) u; v = b2 v + (1 - b2) u^2; w + rate m / (sqrt(v) + tau), with v beginning at tau^2: Reddi
    et al. 2021, arXiv:2003.00295, algorithm 2. There is no correction of the first steps' bias there, nor here."""

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


def server(algorithm: str, rate: float) -> Server:
    """The aggregator's part of an algorithm; FedProx differs from FedAvg at the institutions only."""
    return FedAdam(rate) if algorithm == "fedadam" else FedAvg()


def usable(update: Vector) -> bool:
    """Whether an update can be averaged: a single value that is no number would spoil the model for everybody."""
    return bool(np.isfinite(update).all())


class Mean:
    """The mean of updates weighted by images, added up as they come, so that none has to be kept; in the institutions'
    order, so that it doesn't matter which rank somebody lives on."""

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
        """The root of the weighted mean square of the updates' distances from their mean, over its length: 0 where all
        institutions go the same way, or there is no mean to compare with; 1 where they differ by as much as they have
        in common."""
        length = math.sqrt(_square(self.value))
        return math.sqrt(self._spread / self.weight) / length if length > 0 else 0.0


def _square(vector: NDArray[np.float64]) -> float:
    """Its length's square, without BLAS, whose threads would get into the way of TensorFlow's."""
    return float(np.square(vector).sum())


@dataclass(frozen=True)
class Drift:
    """How far a round's updates are from each other: that of `Mean.relative`; and by institution, how far its update
    lies from the others' (`robust.apart`), nothing where there are fewer than three or all can't be kept."""

    relative: float
    distances: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Gathered:
    """What the aggregator has of a round: the update that it goes on with, float64 [parameters], None where there is
    none; how far updates were from each other, None where it can't know; the institutions whose update was no
    number; and those that fell silent before they sent one."""

    update: NDArray[np.float64] | None = None
    drift: Drift | None = None
    dropped: list[int] = field(default_factory=list)
    silent: list[int] = field(default_factory=list)


def combined(
    found: Mapping[int, Vector] | Iterable[tuple[int, Vector]], counts: Mapping[int, int], params: Learning
) -> Gathered:
    """What the run's rule makes of the updates that are numbers. `found` has them by institution, or one after the
    other as they arrive: then they are forgotten as they are added up, where all together would be more than `KEPT`
    bytes and the rule doesn't have to compare them."""
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
        return Gathered(dropped=dropped)
    updates = list(kept.values())
    distances = dict(zip(kept, robust.apart(updates), strict=True)) if len(updates) > 2 else {}
    return Gathered(_ruled(mean, updates, params), Drift(mean.relative, distances), dropped)


def _ruled(mean: Mean, updates: Sequence[Vector], params: Learning) -> NDArray[np.float64] | None:
    """None where so many were dropped that trimming would leave nothing."""
    if params.rule == "median":
        return robust.median(updates)
    if params.rule == "trimmed":
        return robust.trimmed(updates, params.trim) if len(updates) > 2 * params.trim else None
    return mean.value
