"""Statistics for a small class, as pure functions that return None for undefined values."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
_Z = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
SAME = 1e-9  # standard deviation below which numbers count as equal


def wilson(right: int, total: int) -> tuple[float, float] | None:
    """The 95 % interval of a share (Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22, 1927). It holds for small numbers, too, and stays in 0..1."""
    if total == 0:
        return None
    share, square = right / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    # With none or all right, the interval reaches 0 or 1 exactly; the formula alone has a rounding error.
    return (0.0 if right == 0 else middle - half, 1.0 if right == total else middle + half)


@dataclass(frozen=True)
class Quartiles:
    low: float
    median: float
    high: float


def quartiles(values: Sequence[float]) -> Quartiles | None:
    """Median and quartiles, interpolated linearly (type 7 of Hyndman and Fan, Sample quantiles in statistical packages,
    The American Statistician 50(4), 1996; the default of NumPy)."""
    if not values:
        return None
    if len(values) == 1:
        return Quartiles(values[0], values[0], values[0])
    return Quartiles(*statistics.quantiles(values, n=4, method="inclusive"))


def correlation(marks: Sequence[float], scores: Sequence[float]) -> float | None:
    """Pearson's correlation; it is point-biserial if marks are only 0 and 1. None for fewer than three pairs, and if
    all marks or all scores are equal."""
    if len(marks) < 3 or constant(marks) or constant(scores):
        return None
    return max(-1.0, min(1.0, statistics.correlation(marks, scores)))


def constant(values: Sequence[float]) -> bool:
    return statistics.pstdev(values) < SAME


def sign_test(gained: int, lost: int) -> float:
    """The two-sided p-value of the exact McNemar test (McNemar, Note on the sampling error of the difference between
    correlated proportions, Psychometrika 12, 1947)."""
    changed = gained + lost
    tail: float = sum(math.comb(changed, number) for number in range(min(gained, lost) + 1)) / 2.0**changed
    return min(1.0, 2 * tail)
