"""The time between two checkpoints that loses the least: a checkpoint costs time, a failure costs what came after it.

All times are in seconds. `cost` is the time that training loses by a checkpoint, `mtbf` the mean time between failures,
which come independently of each other.
"""

from __future__ import annotations

import math


def young(cost: float, mtbf: float) -> float:
    """Young's interval, sqrt(2 cost mtbf): a first-order approximation for a cost that is small against `mtbf`.
    Source: J. W. Young, A First Order Approximation to the Optimum Checkpoint Interval, Communications of the ACM
    17(9), 1974. Raises ValueError for a negative cost, and for an `mtbf` that isn't above 0."""
    _check(cost, mtbf)
    return math.sqrt(2 * cost * mtbf)


def daly(cost: float, mtbf: float) -> float:
    """Daly's interval, of higher order: sqrt(2 cost mtbf) (1 + sqrt(cost / 2 mtbf) / 3 + (cost / 2 mtbf) / 9) - cost,
    and `mtbf` for a cost of at least 2 mtbf. Source: J. T. Daly, A Higher Order Estimate of the Optimum Checkpoint
    Interval for Restart Dumps, Future Generation Computer Systems 22(3), 2006, equation 37. Raises ValueError like
    `young`."""
    _check(cost, mtbf)
    if cost >= 2 * mtbf:
        return mtbf
    share = cost / (2 * mtbf)
    return math.sqrt(2 * cost * mtbf) * (1 + math.sqrt(share) / 3 + share / 9) - cost


def _check(cost: float, mtbf: float) -> None:
    if not (cost >= 0 and mtbf > 0):
        raise ValueError(f"a checkpoint costs {cost} s, with a failure in {mtbf} s; both should be times")
