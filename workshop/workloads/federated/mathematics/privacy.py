"""Differential privacy by clipping and noise, of institutions' updates or of images' gradients, and what it promises.

What is clipped can move a sum by the clip at most, and noise of that size hides whether it was there at all. It hides
that in the shared model, and only there: accuracies, losses, distances, the share that was clipped and how many images
an institution has are told without noise here, for the lesson, and epsilon doesn't cover them. Noise is drawn from the
run's seed, so that a run can be repeated; in earnest it has to come from where nobody can draw it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]  # [parameters]
# Of Rényi divergences. dp-accounting's own are finer, take five times as long for each size of a sample, and change
# epsilon by a hundredth where it is small enough to promise anything.
ORDERS = (*range(2, 64), 128, 256, 512, 1024)
AGGREGATOR_NOISE, IMAGES_NOISE = 72, 73  # streams of a seed


def clipped(update: Vector, clip: float) -> tuple[Vector, bool]:
    """An update of a norm of at most `clip` in the same direction, and whether it was longer. What is no number stays
    so."""
    norm = float(np.linalg.norm(update.astype(np.float64)))
    if not clip < norm < np.inf:
        return update, False
    return (update.astype(np.float64) * (clip / norm)).astype(np.float32), True


def noised(
    mean: NDArray[np.float64], used: int, expected: float, spread: float, seed: Sequence[int]
) -> NDArray[np.float64]:
    """The noisy sum of `used` updates over how many are `expected`: McMahan et al. 2018, arXiv:1710.06963, algorithm 1
    with equal weights and the estimator f~. So one institution's influence stays at clip / expected."""
    total = mean * used + spread * stream(seed).standard_normal(len(mean))
    return total / expected


def stream(seed: Sequence[int]) -> np.random.Generator:
    """Noise of its own for each seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(seed))))


@dataclass
class Ledger:
    """Rényi differential privacy (Mironov 2017, arXiv:1702.07476) of the Gaussian mechanism on Poisson samples, by the
    number of who is hidden; neighbouring data sets differ by one thing. `noise` is the noise's standard deviation over
    how far one thing can move what it is added to. Epsilon is for `delta`."""

    noise: float
    delta: float
    _spent: dict[int, Any] = field(default_factory=dict)  # Rényi divergence by order
    _of_one: dict[float, Any] = field(default_factory=dict)  # of one time, by the sample's share

    def spend(self, whom: int, share: float, times: int = 1) -> None:
        """Something with noise was told so often, each time of a sample of `share`."""
        self._spent[whom] = self._spent.get(whom, 0.0) + times * self._once(share)

    def epsilon(self, whom: int) -> float:
        """What all that was told until now promises: 0 where there was nothing, infinite where there was no noise."""
        from dp_accounting import rdp

        if whom not in self._spent:
            return 0.0
        return float(rdp.compute_epsilon(ORDERS, self._spent[whom], self.delta)[0])

    def _once(self, share: float) -> Any:
        import dp_accounting
        from dp_accounting import rdp

        if share not in self._of_one:
            event = dp_accounting.GaussianDpEvent(self.noise)
            sampled = event if share >= 1 else dp_accounting.PoissonSampledDpEvent(share, event)
            self._of_one[share] = rdp.RdpAccountant(ORDERS).compose(sampled).rdp
        return self._of_one[share]
