"""The rates of a benchmark's rounds: their mean, deviation and jitter, and the lines that are printed of them.

Definitions and lines follow Horovod's examples/tensorflow2/tensorflow2_synthetic_benchmark.py. A rank's rate is its
images divided by the seconds of the round. The deviation is 1.96 standard deviations of the rounds' rates; 95 % of
normally distributed rates are that close to their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

CONFIDENCE = 1.96  # standard deviations around the mean that hold 95 % of normally distributed values


def opening_lines(model: str, batch: int, ranks: int) -> list[str]:
    """The first lines: the network, the images of a rank's step, and the ranks."""
    return [f"Model: {model}", f"Batch size: {batch}", f"Number of CPUs: {ranks}"]


def round_line(number: int, rate: float) -> str:
    """The line of a round, counted from 0, whose ranks each trained on `rate` images/s."""
    return f"Iter #{number}: {rate:.1f} img/sec per CPU"


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


def closing_lines(rounds: Mapping[str, float], ranks: int) -> list[str]:
    """The last lines, from a `summary`; none where it is empty."""
    if not rounds:
        return []
    return [
        f"Img/sec per CPU: {rounds['per_rank']:.1f} +-{rounds['per_rank_deviation']:.1f}",
        f"Total img/sec on {ranks} CPU(s): {rounds['total']:.1f} +-{rounds['total_deviation']:.1f}",
    ]
