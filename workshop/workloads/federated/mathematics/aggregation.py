"""Aggregation of updates: means, rules that one wrong update can't move far, and the aggregator's optimizers.

An update is the change of the shared model in an institution's training, float32 [parameters]. Its weight is the number
of images behind it. The robust rules take each value of the update by itself: Yin et al. 2018, arXiv:1803.01498,
definitions 1 and 2. They give all institutions the same weight: otherwise an institution could gain influence by
claiming many images.

Differential privacy of institutions by clipping and noise, and its epsilon.

A clipped update can move a sum by the clip at most, and noise of that size hides whether the update was in the sum.
Only the shared model is protected: accuracies, losses, distances, the share of clipped updates and the numbers of
images are reported without noise, for the lesson, and epsilon doesn't cover them. The noise comes from the run's seed,
so that a run can be repeated; real protection needs noise that nobody can draw again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.params import Learning

Vector = NDArray[np.float32]  # [parameters], all weights of a model in their order, or an update of them
Wide = NDArray[np.float64]


def mean(updates: Sequence[Vector], weights: Sequence[float]) -> Wide:
    """Return the weighted mean of at least one update, float64 [parameters]."""
    return np.average(_together(updates), axis=0, weights=weights)


def median(updates: Sequence[Vector]) -> Wide:
    """Return the median of each value over at least one update, float64 [parameters]."""
    return np.median(_together(updates), axis=0)


def trimmed(updates: Sequence[Vector], trim: int) -> Wide:
    """Return the mean of each value without the `trim` largest and smallest; needs more than 2 `trim` updates."""
    if 2 * trim >= len(updates):
        raise ValueError(f"{len(updates)} updates can't be trimmed by {trim} on either side.")
    return np.sort(_together(updates), axis=0)[trim : len(updates) - trim].mean(axis=0)


def relative_spread(updates: Sequence[Vector], weights: Sequence[float]) -> float:
    """Return the root of the weighted mean square of the updates' distances from their mean, over the mean's length: 0
    where all go the same way, 1 where they differ by as much as they have in common."""
    centre = mean(updates, weights)
    spread = np.average(np.square(_together(updates) - centre).sum(axis=1), weights=weights)
    length = np.square(centre).sum()
    return float(np.sqrt(spread / length)) if length > 0 else 0.0


def median_distances(updates: Sequence[Vector]) -> list[float]:
    """Return the median of each update's distances from the others. A few outliers don't change it for the rest."""
    wide = _together(updates)
    distances = np.stack([np.sqrt(np.square(wide - update).sum(axis=1)) for update in wide])
    others = distances[~np.eye(len(updates), dtype=bool)].reshape(len(updates), -1)
    return np.median(others, axis=1).tolist()


def _together(updates: Sequence[Vector]) -> Wide:
    """Return the updates in double precision, [updates, parameters]."""
    return np.stack(updates).astype(np.float64)


class FedAvg:
    """The mean of the models weighted by images: McMahan et al. 2017, arXiv:1602.05629, algorithm 1."""

    def step(self, model: Vector, update: Wide) -> Vector:
        return (model + update).astype(np.float32)


class FedAdam:
    """Adam on the mean update u, with v beginning at tau^2: Reddi et al. 2021, arXiv:2003.00295, algorithm 2, which has
    no correction of the first steps' bias."""

    def __init__(self, rate: float, b1: float = 0.9, b2: float = 0.99, tau: float = 1e-3) -> None:
        self.rate, self.b1, self.b2, self.tau = rate, b1, b2, tau
        self._first: float | Wide = 0.0
        self._second: float | Wide = tau**2

    def step(self, model: Vector, update: Wide) -> Vector:
        self._first = self.b1 * self._first + (1 - self.b1) * update
        self._second = self.b2 * self._second + (1 - self.b2) * update**2
        return (model + self.rate * self._first / (np.sqrt(self._second) + self.tau)).astype(np.float32)


def server(algorithm: str, rate: float) -> FedAvg | FedAdam:
    """Return the aggregator's part of an algorithm. FedProx differs from FedAvg at the institutions only."""
    return FedAdam(rate) if algorithm == "fedadam" else FedAvg()


def usable(update: Vector) -> bool:
    """Return whether an update can be averaged: a single value that is not a number would spoil the shared model."""
    return bool(np.isfinite(update).all())


@dataclass(frozen=True)
class GatheredUpdates:
    """A round's updates at the aggregator. `update` is the combined one, float64 [parameters]; None where there is
    none. `drift` is their `relative_spread`. `distances` has each one's `median_distances` from the others; it is empty
    for fewer than three updates. Institutions in `dropped` sent values that are not numbers; `used` updates are left.
    """

    update: Wide | None = None
    drift: float | None = None
    distances: Mapping[int, float] = field(default_factory=dict)
    dropped: Sequence[int] = ()
    used: int = 0


def combined(updates: Mapping[int, Vector], counts: Mapping[int, int], params: Learning) -> GatheredUpdates:
    """Combine the updates that are numbers by the run's rule. `updates` and `counts` are by institution."""
    senders = [institution for institution, update in updates.items() if usable(update)]
    dropped = [institution for institution in updates if institution not in senders]
    if not senders:
        return GatheredUpdates(dropped=dropped)
    vectors, weights = [updates[sender] for sender in senders], [float(counts[sender]) for sender in senders]
    distances = dict(zip(senders, median_distances(vectors), strict=True)) if len(senders) > 2 else {}
    update = _ruled(vectors, weights, params)
    return GatheredUpdates(update, relative_spread(vectors, weights), distances, dropped, len(senders))


def _ruled(updates: Sequence[Vector], weights: Sequence[float], params: Learning) -> Wide | None:
    """Apply the run's rule; return None where trimming would leave nothing."""
    if params.rule == "median":
        return median(updates)
    if params.rule == "trimmed":
        return trimmed(updates, params.trim) if len(updates) > 2 * params.trim else None
    return mean(updates, weights)


NOISE = 72  # stream of a seed


def clipped(update: Vector, clip: float) -> tuple[Vector, bool]:
    """Return an update shortened to a norm of at most `clip`, and whether it was longer. An update with a value that is
    not a number stays as it is."""
    norm = float(np.linalg.norm(update.astype(np.float64)))
    if not clip < norm < np.inf:
        return update, False
    return (update.astype(np.float64) * (clip / norm)).astype(np.float32), True


def noised(
    mean: NDArray[np.float64], used: int, expected: float, spread: float, seed: Sequence[int]
) -> NDArray[np.float64]:
    """Return the noisy sum of `used` updates, divided by the number of `expected` ones: McMahan et al. 2018,
    arXiv:1710.06963, algorithm 1 with equal weights and the estimator f~. One institution's influence is at most
    clip / expected. `seed` begins the noise of standard deviation `spread`."""
    draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence([*seed])))
    return (mean * used + spread * draws.standard_normal(len(mean))) / expected


def epsilon(noise: float, delta: float, share: float, releases: int) -> float:
    """Return the epsilon for `delta` of so many noisy sums, each of a Poisson sample of `share` of the institutions, by
    Rényi differential privacy (Mironov 2017, arXiv:1702.07476). Neighbouring federations differ by one institution.
    `noise` is the standard deviation of the noise, divided by how far one institution can move the sum."""
    import dp_accounting
    from dp_accounting import rdp

    event = dp_accounting.GaussianDpEvent(noise)
    sampled = event if share >= 1 else dp_accounting.PoissonSampledDpEvent(share, event)
    return float(rdp.RdpAccountant().compose(sampled, releases).get_epsilon(delta))
