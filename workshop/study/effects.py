"""Which of several settings mattered: how far the results with each of its values lie apart. Pure."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any


@dataclass(frozen=True)
class Effect:
    """What one setting did, everything else being the same."""

    axis: str
    best: Any  # the value with the best mean
    worst: Any
    factor: float  # of the best value's mean over the worst one's; 1 says that it didn't matter


def effects(points: Sequence[Mapping[str, Any]], rates: Sequence[float]) -> list[Effect]:
    """The main effect of each axis on positive rates, the largest first; none of an axis along which no two points
    lie that are equal in all others.

    Means are geometric, since settings multiply speed, and taken along the lines on which everything else stays the
    same: of a whole grid those are the means over all points with that value (Box, Hunter and Hunter, Statistics for
    Experimenters, 2005, chapter 5); where points are missing, a value doesn't pay for the company that it was tried in.
    """
    found = [_effect(axis, points, rates) for axis in dict.fromkeys(name for point in points for name in point)]
    return sorted((one for one in found if one is not None), key=lambda effect: -effect.factor)


def _effect(axis: str, points: Sequence[Mapping[str, Any]], rates: Sequence[float]) -> Effect | None:
    lines: dict[str, dict[str, float]] = defaultdict(dict)  # what else is set -> value -> log of the rate
    values: dict[str, Any] = {}
    for point, rate in zip(points, rates, strict=True):
        if axis in point:
            written = _written(point[axis])
            values[written] = point[axis]
            lines[_written({name: value for name, value in point.items() if name != axis})][written] = math.log(rate)
    above: dict[str, list[float]] = defaultdict(list)  # value -> how far above the mean of each of its lines
    for line in lines.values():
        middle = fmean(line.values())
        for written, log in line.items() if len(line) > 1 else ():
            above[written].append(log - middle)
    if len(above) < 2:
        return None
    means = {written: fmean(told) for written, told in above.items()}
    best, worst = max(means, key=lambda one: means[one]), min(means, key=lambda one: means[one])
    return Effect(axis, values[best], values[worst], math.exp(means[best] - means[worst]))


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
