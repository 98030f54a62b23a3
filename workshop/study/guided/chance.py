"""Which differences between few repeats are more than chance. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes longer to import

USUAL = 0.025  # standard deviation of rates' logarithms on a machine with a desktop on it
WEIGHT = 4  # degrees of freedom that this counts for
SAME = 0.1  # share: cells that are shown to differ by less are as fast as each other
DOUBT = 0.05  # that any of the comparisons of a step is called a difference and is none


@dataclass(frozen=True)
class Chance:
    """How repeats of one cell scatter."""

    deviation: float  # standard deviation of the logarithm of a rate
    freedom: int  # degrees of freedom with which that is known

    @property
    def usual(self) -> float:
        """By which share two repeats of one cell differ, on average."""
        return self.deviation * 2 / math.sqrt(math.pi)

    def differ(self, rates: Sequence[float], other: Sequence[float], among: int = 2) -> bool:
        """Whether two cells with these rates differ. They may be the best and the worst of `among` cells, which is the
        result of as many comparisons as there are pairs (Bonferroni)."""
        difference, uncertainty = self._difference(rates, other, among)
        return difference > uncertainty

    def agree(self, rates: Sequence[float], other: Sequence[float]) -> bool:
        """Whether the repeats show that two cells differ by less than `SAME`. Two cells that don't differ beyond chance
        are not alike for that: with few repeats nothing is shown. If the best and the worst are alike, all are; so this
        needs no correction for many cells."""
        difference, uncertainty = self._difference(rates, other, 2)
        return difference + uncertainty < math.log1p(SAME)

    def _difference(self, rates: Sequence[float], other: Sequence[float], among: int) -> tuple[float, float]:
        """The difference of the logarithms of two cells' rates, and its uncertainty; infinite without rates."""
        if not rates or not other:
            return 0.0, math.inf
        pairs = max(among * (among - 1) // 2, 1)
        error = self.deviation * math.sqrt(1 / len(rates) + 1 / len(other))
        difference = abs(mean(map(math.log, rates)) - mean(map(math.log, other)))
        return difference, float(stdtrit(self.freedom, 1 - DOUBT / (2 * pairs))) * error


def chance(cells: Iterable[Sequence[float]]) -> Chance:
    """The scatter of all repeats, from each cell's rates.

    A quick study has two repeats of each cell; their ranges often differ by chance. So the scatter is estimated from
    all repeats together, as standard deviation of the logarithms of rates. The usual scatter of such a machine counts
    as a few further repeats (a moderated t-statistic: Smyth, Linear models and empirical Bayes methods for assessing
    differential expression, Statistical Applications in Genetics and Molecular Biology 3(1), 2004).
    """
    squares, freedom = WEIGHT * USUAL**2, WEIGHT
    for rates in cells:
        if len(rates) > 1:
            logarithms = [math.log(rate) for rate in rates]
            middle = mean(logarithms)
            squares += sum((value - middle) ** 2 for value in logarithms)
            freedom += len(rates) - 1
    return Chance(math.sqrt(squares / freedom), freedom)
