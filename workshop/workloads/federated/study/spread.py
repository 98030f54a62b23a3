"""What several seeds say of a figure, and of the difference between two. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

from workshop.study.grid.seeds import AGREED


@dataclass(frozen=True)
class Spread:
    """A figure of several seeds, in the order of the seeds; at least one."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample's standard deviation (divided by n - 1); None for one value, which has none."""
        return stdev(self.values) if len(self.values) > 1 else None

    def as_json(self) -> dict[str, Any]:
        low, high = min(self.values), max(self.values)
        return {"mean": self.mean, "deviation": self.deviation, "low": low, "high": high, "values": list(self.values)}


@dataclass(frozen=True)
class Paired:
    """By how much one way did better than another, seed by seed: differences, and shares of what the other came to."""

    one: str
    other: str
    on: str  # held_out or own
    differences: tuple[float, ...]
    shares: tuple[float, ...]  # of the same seeds: one / other - 1; none where some other is 0

    @property
    def mean(self) -> float:
        return fmean(self.differences)

    @property
    def error(self) -> float | None:
        """The mean's standard error; None for one seed."""
        return standard_error(self.differences)

    @property
    def share(self) -> float | None:
        """How much better in proportion, as figures of others are given."""
        return fmean(self.shares) if self.shares else None

    @property
    def share_error(self) -> float | None:
        return standard_error(self.shares)

    @property
    def better(self) -> int:
        return sum(one > 0 for one in self.differences)

    @property
    def worse(self) -> int:
        return sum(one < 0 for one in self.differences)

    @cached_property
    def chance(self) -> float:
        """How likely two equal ways would differ in so one-sided a manner: the two-sided sign test, ties left out
        (Conover, Practical nonparametric statistics, 1999, section 3.4)."""
        told = self.better + self.worse
        most = max(self.better, self.worse)
        tail = sum(math.comb(told, number) for number in range(most, told + 1)) / 2**told
        return min(2 * tail, 1.0)

    @property
    def agreed(self) -> bool:
        """Whether all seeds say the same."""
        return len(self.differences) in (self.better, self.worse)

    @property
    def sure(self) -> bool:
        """Whether all seeds say the same, and are enough for that to mean something."""
        return self.agreed and len(self.differences) >= AGREED

    def as_json(self) -> dict[str, Any]:
        names = ("one", "other", "on", "mean", "error", "share", "share_error", "better", "worse", "chance", "sure")
        return {**{name: getattr(self, name) for name in names}, "differences": list(self.differences)}


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean of some values: their sample's standard deviation over the root of their number."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def paired(one: str, other: str, on: str, values: Sequence[tuple[float, float]]) -> Paired | None:
    """From what the two came to with the same seed; None where no seed has both."""
    if not values:
        return None
    shares = tuple(mine / theirs - 1 for mine, theirs in values if theirs > 0)
    whole = len(shares) == len(values)
    return Paired(one, other, on, tuple(mine - theirs for mine, theirs in values), shares if whole else ())


@dataclass(frozen=True)
class Band:
    """A curve by round: the mean of the seeds, and the lowest and highest of them."""

    rounds: tuple[int, ...]  # from 1
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    seeds: int

    def as_json(self) -> dict[str, Any]:
        return {name: list(getattr(self, name)) for name in ("rounds", "means", "lows", "highs")} | {
            "seeds": self.seeds
        }


def band(curves: Sequence[Mapping[int, float]]) -> Band | None:
    """The curves (round -> value) of several seeds as one, over the rounds that all of them have; None where there are
    none."""
    if not curves:
        return None
    common = sorted(set.intersection(*(set(curve) for curve in curves)))
    if not common:
        return None
    columns = [[curve[number] for curve in curves] for number in common]
    return Band(
        tuple(common),
        tuple(fmean(column) for column in columns),
        tuple(min(column) for column in columns),
        tuple(max(column) for column in columns),
        len(curves),
    )
