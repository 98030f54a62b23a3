"""The rates of a benchmark's rounds: their mean, deviation and jitter.

Definitions follow Horovod's examples/tensorflow2/tensorflow2_synthetic_benchmark.py. A rank's rate is its images
divided by the seconds of the round. The deviation is 1.96 standard deviations of the rounds' rates; 95 % of normally
distributed rates are that close to their mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CONFIDENCE = 1.96  # standard deviations around the mean that hold 95 % of normally distributed values


def summary(rates: Sequence[float], ranks: int) -> dict[str, float]:
    """Mean and deviation of the rounds' `rates`, images/s of each rank, for a rank and for all `ranks`; `jitter_share`
    is the standard deviation relative to the mean. Empty without rates."""
    if not rates:
        return {}
    mean, deviation = float(np.mean(rates)), float(np.std(rates))
    return {
        "per_rank": mean,
        "per_rank_deviation": CONFIDENCE * deviation,
        "total": ranks * mean,
        "total_deviation": ranks * CONFIDENCE * deviation,
        "jitter_share": deviation / mean,
    }
