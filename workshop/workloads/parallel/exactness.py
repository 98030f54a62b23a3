"""Comparison of a training that was cut with one in a single process."""

from __future__ import annotations

import numpy as np

from workshop.workloads.parallel.training import CutTraining


def worst_difference(training: CutTraining, alone: CutTraining) -> float:
    """The largest relative difference of a weight of this rank from that of one process, relative to the largest weight
    of its array. Collective over the ranks of `training`."""
    full, group = alone.own_weights(), training.comms["layer"]
    worst = 0.0
    for name, (local, axis) in training.own_weights().items():
        expected = full[name][0]
        if axis is not None:
            expected = np.split(expected, group.size, axis=axis)[group.rank]
        worst = max(worst, float(np.abs(local - expected).max() / max(np.abs(expected).max(), 1e-30)))
    return worst
