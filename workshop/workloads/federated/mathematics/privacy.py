"""Differential privacy of institutions by clipping and noise, and its epsilon.

A clipped update can move a sum by the clip at most, and noise of that size hides whether the update was in the sum.
Only the shared model is protected: accuracies, losses, distances, the share of clipped updates and the numbers of
images are reported without noise, for the lesson, and epsilon doesn't cover them. The noise comes from the run's seed,
so that a run can be repeated; real protection needs noise that nobody can draw again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.mathematics.aggregation import Vector

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
