"""What chance does to rates, and which differences are more than that. Pure.

A quick study has two repeats of a cell: their ranges miss each other by chance every third time. So the scatter is
taken from all repeats of all cells together, as standard deviation of the rates' logarithms, and what is usual for
such a machine counts as a few repeats more (a moderated t-statistic: Smyth, Linear models and empirical Bayes methods
for assessing differential expression, Statistical Applications in Genetics and Molecular Biology 3(1), 2004). Where
cells are the extremes of several, as many comparisons have been made as there are pairs of them (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes longer to import

USUAL = 0.025  # standard deviation of rates' logarithms on a machine with a desktop on it
WEIGHT = 4  # degrees of freedom that this counts for
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

    def apart(self, one: Sequence[float], other: Sequence[float], among: int = 2) -> bool:
        """Whether two cells with these rates differ, being extremes of `among` cells."""
        if not one or not other:
            return False
        pairs = max(among * (among - 1) // 2, 1)
        difference = abs(mean(map(math.log, one)) - mean(map(math.log, other)))
        error = self.deviation * math.sqrt(1 / len(one) + 1 / len(other))
        return bool(difference > stdtrit(self.freedom, 1 - DOUBT / (2 * pairs)) * error)


def chance(cells: Iterable[Sequence[float]]) -> Chance:
    """The scatter of all repeats, from each cell's rates."""
    squares, freedom = WEIGHT * USUAL**2, WEIGHT
    for rates in cells:
        if len(rates) > 1:
            logarithms = [math.log(rate) for rate in rates]
            middle = mean(logarithms)
            squares += sum((value - middle) ** 2 for value in logarithms)
            freedom += len(rates) - 1
    return Chance(math.sqrt(squares / freedom), freedom)
