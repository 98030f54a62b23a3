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
    """What one setting did, whatever the others were."""

    axis: str
    best: Any  # the value with the best mean
    worst: Any
    factor: float  # of the best value's mean over the worst one's; 1 says that it didn't matter


def effects(points: Sequence[Mapping[str, Any]], rates: Sequence[float]) -> list[Effect]:
    """The main effect of each axis on positive rates, the largest first; none of an axis with a single value.

    Means are geometric, since settings multiply speed; each is over all points with that value (Box, Hunter and
    Hunter, Statistics for Experimenters, 2005, chapter 5).
    """
    found = []
    for axis in dict.fromkeys(name for point in points for name in point):
        logs: dict[str, list[float]] = defaultdict(list)
        values: dict[str, Any] = {}
        for point, rate in zip(points, rates, strict=True):
            if axis in point:
                written = json.dumps(point[axis])
                values[written] = point[axis]
                logs[written].append(math.log(rate))
        if len(logs) < 2:
            continue
        means = {written: fmean(told) for written, told in logs.items()}
        best, worst = max(means, key=lambda one: means[one]), min(means, key=lambda one: means[one])
        found.append(Effect(axis, values[best], values[worst], math.exp(means[best] - means[worst])))
    return sorted(found, key=lambda effect: -effect.factor)
