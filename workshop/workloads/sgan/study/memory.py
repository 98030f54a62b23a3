"""Whether memory grows: the slope of resident memory over evaluations, with its uncertainty. Pure.

Least squares over what comes after a warm-up, in which libraries fill their pools. Neighbouring values depend on each
other, so that the usual standard error of a slope is too small; it is widened by the correlation of neighbouring
residuals r, times sqrt((1 + r) / (1 - r)) (Santer et al., Statistical significance of trends and trend differences in
layer-average atmospheric temperature time series, Journal of Geophysical Research 105(D6), 2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

WARM_UP = 1 / 3  # of the values, which say nothing
FEWEST = 8  # values that say something
EVALUATIONS = 100  # for which growth is told
GROWS = 0.01  # of the memory that there was: less, over so many evaluations, is no leak that anybody would notice
STILL = 0.25  # of the whole slope, that the second half must have as well: pools that fill up slow down


@dataclass(frozen=True)
class Growth:
    """Resident memory of one process over its evaluations."""

    values: tuple[float, ...]  # bytes, after each evaluation
    slope: float  # bytes that an evaluation adds
    late: float  # the same over the second half
    error: float  # twice the standard error of the slope
    grows: bool  # beyond what chance and the filling of pools do

    @property
    def climbs(self) -> bool:
        """Whether there is more than chance in the slope, however little it is."""
        return self.slope > self.error

    @property
    def added(self) -> float:
        """Bytes that a hundred evaluations add."""
        return EVALUATIONS * self.slope

    @property
    def uncertainty(self) -> float:
        """What `added` may be off by, in bytes."""
        return EVALUATIONS * self.error

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"per_100": self.added, "per_100_error": self.uncertainty}


def growth(values: Sequence[float]) -> Growth | None:
    """How resident memory [bytes after each evaluation] grows; None where there are too few values."""
    kept = list(values)[int(len(values) * WARM_UP) :]
    if len(kept) < FEWEST:
        return None
    slope, error = line(kept)
    late, _ = line(kept[len(kept) // 2 :])
    beyond = slope - 2 * error > 0 and EVALUATIONS * slope > GROWS * kept[0]
    return Growth(tuple(values), slope, late, 2 * error, bool(beyond and late > STILL * slope))


def line(values: Sequence[float]) -> tuple[float, float]:
    """Slope per value and its standard error, of at least three values."""
    count = len(values)
    middle, mean = (count - 1) / 2, sum(values) / count
    spread = sum((place - middle) ** 2 for place in range(count))
    slope = sum((place - middle) * (value - mean) for place, value in enumerate(values)) / spread
    left = [value - mean - slope * (place - middle) for place, value in enumerate(values)]
    squares = sum(residual**2 for residual in left)
    if squares == 0:
        return slope, 0.0
    correlation = sum(one * other for one, other in pairwise(left)) / squares
    correlation = min(max(correlation, 0.0), 0.95)
    variance = squares / (count - 2) / spread
    return slope, math.sqrt(variance * (1 + correlation) / (1 - correlation))
