"""What runs of three ways have told, what several seeds say of a figure, and of the difference between two. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

from workshop.report.analysis.scores import number
from workshop.store.records import Event, RunRecord, Trial
from workshop.study.grid.seeds import AGREED, SEED

WAYS = ("federated", "centralised", "alone")  # in the order in which runs learn them
ON = ("held_out", "own")  # data that no institution has, and each one's own
WAYS_ON = [(way, on) for on in ON for way in WAYS]

Curve = Mapping[int, float]  # round, from 1 -> score
Curves = Mapping[tuple[str, str], Curve]  # of a way on some data


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
        """How likely two equal ways would differ so one-sidedly: the two-sided sign test, ties left out (Conover,
        Practical nonparametric statistics, 1999, section 3.4)."""
        told, most = self.better + self.worse, max(self.better, self.worse)
        return min(2 * sum(math.comb(told, count) for count in range(most, told + 1)) / 2**told, 1.0)

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
    shares = tuple(mine / theirs - 1 for mine, theirs in values if theirs > 0)
    whole = shares if len(shares) == len(values) else ()
    return Paired(one, other, on, tuple(mine - theirs for mine, theirs in values), whole) if values else None


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


def band(curves: Sequence[Curve]) -> Band | None:
    """The curves of several seeds as one, over the rounds that all of them have; None where there are none."""
    common = sorted(set.intersection(*map(set, curves))) if curves else []
    columns = [[curve[number] for curve in curves] for number in common]
    means, lows, highs = (tuple(map(of, columns)) for of in (fmean, min, max))
    return Band(tuple(common), means, lows, highs, len(curves)) if common else None


@dataclass(frozen=True)
class Seeded:
    """What one run came to, or has come to so far: the scores (0 to 1) of each way on each data."""

    seed: int
    run: int
    scores: Mapping[tuple[str, str], float]  # (way, on) -> score at its end; none while it goes on
    curves: Curves

    def as_json(self) -> dict[str, Any]:
        scores = {way: {on: self.scores.get((way, on)) for on in ON} for way in WAYS}
        return {"seed": self.seed, "run": self.run, **scores}


class Seeds(list[Seeded]):
    """The runs that have come to their end, one for each seed."""

    def spread(self, way: str, on: str) -> Spread | None:
        """A way's scores over the seeds; None where there are none yet."""
        return Spread(tuple(one.scores[way, on] for one in self)) if self else None

    def apart(self, one: str, other: str, on: str) -> Paired | None:
        """Two ways, seed by seed."""
        return paired(one, other, on, [(seed.scores[one, on], seed.scores[other, on]) for seed in self])

    def by_round(self, way: str, on: str) -> Band | None:
        """A way's curve over all seeds."""
        return band([curve for one in self if (curve := one.curves.get((way, on)))])

    @property
    def closed(self) -> float | None:
        """How far federated learning has come from alone (0) to pooled data (1) on held-out data, by the means over the
        seeds; None where pooled data aren't better than alone with every seed."""
        gain, whole = (self.apart(way, WAYS[2], ON[0]) for way in WAYS[:2])
        return gain.mean / whole.mean if gain is not None and whole is not None and whole.better == len(self) else None


def ended(trial: Trial, run: RunRecord | None) -> Seeded | None:
    """What a trial's run came to; None where it hasn't completed, or told something else than three ways."""
    if run is None or run.status != "completed":
        return None
    told = {way: came_to(run, way) for way in WAYS}
    scores = {(way, on): told[way].get(f"{on}_score") for way, on in WAYS_ON}
    if not all(map(number, scores.values())):
        return None
    return Seeded(seed_of(trial), run.id, scores, {(way, on): curve(told[way].get(on)) for way, on in WAYS_ON})


def going(trial: Trial, run: RunRecord, events: Iterable[Event], measure: str) -> Seeded:
    """A run that goes on, from what its rank 0 has told: see `names`."""
    return Seeded(seed_of(trial), run.id, {}, curves_of(events, {name: key for key, name in names(measure).items()}))


def came_to(run: RunRecord, way: str) -> Mapping[str, Any]:
    """What a run has told of a way at its end; nothing where it hasn't."""
    by_way = run.metrics.get("by_way")
    told = by_way.get(way) if isinstance(by_way, Mapping) else None
    return told if isinstance(told, Mapping) else {}


def curves_of(events: Iterable[Event], keys: Mapping[str, Any]) -> dict[Any, dict[int, float]]:
    """The values of events by round, for each key of `keys` (name -> key); those that are no numbers are left out."""
    found: dict[Any, dict[int, float]] = {}
    for event in events:
        if event.name in keys and event.step is not None and math.isfinite(event.value):
            found.setdefault(keys[event.name], {})[event.step] = event.value
    return found


def names(measure: str) -> dict[tuple[str, str], str]:
    """The events by which runs tell the scores of a round: (way, on) -> name. The first way's have no way's name."""
    return {
        (way, on): f"{'' if way == WAYS[0] else f'{way} '}{on.replace('_', '-')} {measure}" for way in WAYS for on in ON
    }


def seed_of(trial: Trial) -> int:
    return int(trial.params[SEED])


def curve(values: Any) -> dict[int, float]:
    """A metric's values by round; those that are no numbers are left out."""
    told = values if isinstance(values, Sequence) and not isinstance(values, str) else ()
    return {at: float(value) for at, value in enumerate(told, 1) if number(value)}
