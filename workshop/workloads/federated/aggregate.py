"""What the aggregator does with updates: arithmetic on flat vectors, in NumPy.

An update is what an institution's training has added to the shared model, float32 [parameters]; its weight is the
number of images behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]  # [parameters]


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


def mean(updates: Sequence[Vector], counts: Sequence[int]) -> NDArray[np.float64]:
    """The mean of at least one update, weighted by images; float64 [parameters]. Added up in the order given, which is
    the institutions', so that it doesn't matter which rank somebody lives on."""
    total = np.zeros(len(updates[0]))
    for update, count in zip(updates, counts, strict=True):
        total += float(count) * update.astype(np.float64)
    return total / float(sum(counts))


@dataclass(frozen=True)
class Drift:
    """How far a round's updates are from each other. `distances` are the norms of each one's difference from their
    weighted mean; `relative` is the root of their weighted mean square over the norm of that mean: 0 where all
    institutions go the same way, 1 where they differ by as much as they have in common."""

    distances: list[float]
    relative: float


def drift(updates: Sequence[Vector], counts: Sequence[int]) -> Drift:
    """The drift of at least one update."""
    centre = mean(updates, counts)
    distances = [float(np.linalg.norm(update - centre)) for update in updates]
    squares = np.average(np.square(distances), weights=np.asarray(counts, float))
    length = float(np.linalg.norm(centre))
    return Drift(distances, float(np.sqrt(squares)) / length if length > 0 else 0.0)
