"""The statistics of a small class. Pure; None where something isn't defined."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
_Z = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
SAME = 1e-9  # standard deviation below which numbers count as alike


def wilson(right: int, of: int) -> tuple[float, float] | None:
    """The 95 % interval of a share (Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22, 1927). It holds for small numbers, too, and stays in 0..1."""
    if of == 0:
        return None
    share, square = right / of, _Z * _Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    # None or all right touch the end exactly; arithmetic alone misses it by a rounding error.
    return (0.0 if right == 0 else middle - half, 1.0 if right == of else middle + half)


@dataclass(frozen=True)
class Quartiles:
    low: float
    median: float
    high: float


def quartiles(values: Sequence[float]) -> Quartiles | None:
    """Median and quartiles, between neighbours in a straight line (type 7 of Hyndman and Fan, Sample quantiles in
    statistical packages, The American Statistician 50(4), 1996; what NumPy does by default)."""
    if not values:
        return None
    if len(values) == 1:
        return Quartiles(values[0], values[0], values[0])
    return Quartiles(*statistics.quantiles(values, n=4, method="inclusive"))


def correlation(marks: Sequence[float], scores: Sequence[float]) -> float | None:
    """Pearson's correlation; where marks are only 0 and 1 it is the point-biserial one. None for fewer than three
    pairs, or where marks or scores are all alike."""
    if len(marks) < 3 or alike(marks) or alike(scores):
        return None
    return max(-1.0, min(1.0, statistics.correlation(marks, scores)))


def alike(values: Sequence[float]) -> bool:
    return statistics.pstdev(values) < SAME


def sign_test(gained: int, lost: int) -> float:
    """How often chance alone makes a change at least as lopsided, in either direction: the exact test of McNemar's
    table (McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika 12,
    1947)."""
    changed = gained + lost
    tail = sum(math.comb(changed, number) for number in range(min(gained, lost) + 1)) / 2**changed
    return min(1.0, 2 * tail)
