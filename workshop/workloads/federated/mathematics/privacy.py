"""Differential privacy by clipping and noise, for institutions' updates or images' gradients, and its epsilon.

A clipped vector can move a sum by the clip at most, and noise of that size hides whether the vector was in the sum.
Only the shared model is protected: accuracies, losses, distances, the share of clipped vectors and the numbers of
images are reported without noise, for the lesson, and epsilon doesn't cover them. The noise comes from the run's seed,
so that a run can be repeated; real protection needs noise that nobody can draw again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.mathematics.aggregation import Vector

AGGREGATOR_NOISE, IMAGES_NOISE = 72, 73  # streams of a seed


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
    clip / expected."""
    total = mean * used + spread * stream(seed).standard_normal(len(mean))
    return total / expected


def stream(seed: Sequence[int]) -> np.random.Generator:
    """Return the random generator of a seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(seed))))


@dataclass
class Ledger:
    """Rényi differential privacy (Mironov 2017, arXiv:1702.07476) of the Gaussian mechanism on Poisson samples, one
    account for each number `whom`. Neighbouring data sets differ by one record: an institution or an image. `noise` is
    the standard deviation of the noise, divided by how far one record can move the sum. Epsilon is for `delta`."""

    noise: float
    delta: float
    _spent: dict[int, Any] = field(default_factory=dict)  # whom -> Rényi divergences by order
    _of_release: dict[float, Any] = field(default_factory=dict)  # the sample's share -> divergences of one release

    def spend(self, whom: int, share: float, times: int = 1) -> None:
        """Account for `times` noisy releases, each of a sample of `share`."""
        self._spent[whom] = self._spent.get(whom, 0.0) + times * self._divergences(share)

    def epsilon(self, whom: int) -> float:
        """Return the epsilon of all releases so far: 0 without a release, infinite without noise."""
        from dp_accounting.rdp import rdp_privacy_accountant as rdp

        if whom not in self._spent:
            return 0.0
        return float(rdp.compute_epsilon(rdp.DEFAULT_RDP_ORDERS, self._spent[whom], self.delta)[0])

    def _divergences(self, share: float) -> Any:
        """Return the Rényi divergences of one release."""
        import dp_accounting
        from dp_accounting import rdp

        if share not in self._of_release:
            event = dp_accounting.GaussianDpEvent(self.noise)
            sampled = event if share >= 1 else dp_accounting.PoissonSampledDpEvent(share, event)
            self._of_release[share] = rdp.RdpAccountant().compose(sampled).rdp
        return self._of_release[share]
