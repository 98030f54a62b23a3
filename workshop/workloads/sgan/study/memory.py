"""Whether memory grows: the slope of resident memory over evaluations, and its uncertainty. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WARM_UP = 1 / 3  # of the values, which say nothing
FEWEST = 8  # values that say something
EVALUATIONS = 100  # for which growth is told
GROWS = 0.01  # share of the initial memory: less growth over so many evaluations is no noticeable leak
STILL = 0.25  # of the whole slope, that the second half must have as well: pools that fill up slow down


@dataclass(frozen=True)
class Growth:
    """Resident memory of one process over its evaluations."""

    values: tuple[float, ...]  # bytes, after each evaluation
    added: float  # bytes that a hundred evaluations add
    uncertainty: float  # of that: twice the standard error
    late: float  # bytes that a hundred evaluations add in the second half

    @property
    def grows(self) -> bool:
        """Whether memory grows beyond chance and the filling of pools."""
        beyond = self.added > max(self.uncertainty, GROWS * self.values[0])
        return beyond and self.late > STILL * self.added

    @property
    def steady(self) -> bool:
        """Whether growth that would be noticed is ruled out."""
        return self.added + self.uncertainty <= GROWS * self.values[0]

    @property
    def climbs(self) -> bool:
        """Whether the slope is more than chance, however small it is."""
        return self.added > self.uncertainty


def growth(values: Sequence[float]) -> Growth | None:
    """The growth of resident memory [bytes after each evaluation]; None for too few values."""
    settled = list(values)[int(len(values) * WARM_UP) :]
    if len(settled) < FEWEST:
        return None
    slope, error = _line(settled)
    late, _ = _line(settled[len(settled) // 2 :])
    return Growth(tuple(values), EVALUATIONS * slope, EVALUATIONS * 2 * error, EVALUATIONS * late)


def _line(values: Sequence[float]) -> tuple[float, float]:
    """Slope per value and its standard error, of at least three values, by least squares.

    Neighbouring values depend on each other, so the usual standard error is too small. It is multiplied by
    sqrt((1 + r) / (1 - r)), where r is the correlation of neighbouring residuals (Santer et al., Statistical
    significance of trends and trend differences in layer-average atmospheric temperature time series, Journal of
    Geophysical Research 105(D6), 2000).
    """
    place = np.arange(len(values)) - (len(values) - 1) / 2
    rest = np.asarray(values) - np.mean(values)
    slope = float(place @ rest / (place @ place))
    rest = rest - slope * place
    squares = float(rest @ rest)
    correlation = min(max(float(rest[1:] @ rest[:-1]) / squares, 0.0), 0.95) if squares else 0.0
    variance = squares / (len(values) - 2) / float(place @ place)
    return slope, (variance * (1 + correlation) / (1 - correlation)) ** 0.5
