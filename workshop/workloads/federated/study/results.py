"""The results of runs in three ways, their spread over several seeds, and the differences between two ways. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from workshop.report.activity import SEED
from workshop.report.analysis.scores import number
from workshop.store.records import Event, RunRecord, Trial
from workshop.study.grid.verdict import AGREED

WAYS = ("federated", "centralised", "alone")  # in the order in which runs learn them
ON = ("held_out", "own")  # the data of a score: images that no institution has, or each institution's own
WAYS_ON = [(way, on) for on in ON for way in WAYS]

Curve = Mapping[int, float]  # round, from 1 -> score
Curves = Mapping[tuple[str, str], Curve]  # of a way on some data


@dataclass(frozen=True)
class Spread:
    """A score's values in the order of the seeds; at least one."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample's standard deviation (divided by n - 1); None for one value."""
        return stdev(self.values) if len(self.values) > 1 else None

    def as_json(self) -> dict[str, Any]:
        low, high = min(self.values), max(self.values)
        return {"mean": self.mean, "deviation": self.deviation, "low": low, "high": high, "values": list(self.values)}


@dataclass(frozen=True)
class Paired:
    """By how much one way did better than another, seed by seed."""

    way: str
    other: str
    on: str  # held_out or own
    differences: tuple[float, ...]
    shares: tuple[float, ...]  # relative differences, score / baseline - 1; empty where a baseline is 0

    @property
    def mean(self) -> float:
        return fmean(self.differences)

    @property
    def error(self) -> float | None:
        """The mean's standard error; None for one seed."""
        return standard_error(self.differences)

    @property
    def share(self) -> float | None:
        """The mean relative difference, which publications report."""
        return fmean(self.shares) if self.shares else None

    @property
    def share_error(self) -> float | None:
        return standard_error(self.shares)

    @property
    def better(self) -> int:
        return sum(difference > 0 for difference in self.differences)

    @property
    def worse(self) -> int:
        return sum(difference < 0 for difference in self.differences)

    @property
    def agreed(self) -> bool:
        """Whether all differences have the same sign."""
        return len(self.differences) in (self.better, self.worse)

    @property
    def sure(self) -> bool:
        """Whether all differences have the same sign, with enough seeds to be significant."""
        return self.agreed and len(self.differences) >= AGREED

    def as_json(self) -> dict[str, Any]:
        names = ("other", "on", "mean", "error", "share", "share_error", "better", "worse", "sure")
        values = {name: getattr(self, name) for name in names}
        return {"one": self.way, **values, "differences": list(self.differences)}


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean of some values; None for one value."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def paired(way: str, other: str, on: str, values: Sequence[tuple[float, float]]) -> Paired | None:
    """Compare two ways by their scores with the same seeds; None without any."""
    shares = tuple(score / baseline - 1 for score, baseline in values if baseline > 0)
    complete = shares if len(shares) == len(values) else ()
    return Paired(way, other, on, tuple(score - baseline for score, baseline in values), complete) if values else None


@dataclass(frozen=True)
class Band:
    """A curve by round: the mean of the seeds, and the lowest and highest of them."""

    rounds: tuple[int, ...]  # from 1
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    seeds: int


def band(curves: Sequence[Curve]) -> Band | None:
    """Return the band of several seeds' curves, over the rounds that all of them have; None without any."""
    common = sorted(set.intersection(*map(set, curves))) if curves else []
    columns = [[curve[number] for curve in curves] for number in common]
    if not common:
        return None
    means, lows, highs = tuple(map(fmean, columns)), tuple(map(min, columns)), tuple(map(max, columns))
    return Band(tuple(common), means, lows, highs, len(curves))


@dataclass(frozen=True)
class Seeded:
    """One run's scores (0 to 1), for each way on each data: final ones, and by round so far."""

    seed: int
    run: int
    scores: Mapping[tuple[str, str], float]  # (way, on) -> final score; empty while the run goes on
    curves: Curves

    def as_json(self) -> dict[str, Any]:
        scores = {way: {on: self.scores.get((way, on)) for on in ON} for way in WAYS}
        return {"seed": self.seed, "run": self.run, **scores}


class Seeds(list[Seeded]):
    """The completed runs, one for each seed."""

    def spread(self, way: str, on: str) -> Spread | None:
        """Return a way's scores over the seeds; None without any."""
        return Spread(tuple(run.scores[way, on] for run in self)) if self else None

    def compare(self, way: str, other: str, on: str) -> Paired | None:
        """Compare two ways, seed by seed."""
        return paired(way, other, on, [(seed.scores[way, on], seed.scores[other, on]) for seed in self])

    def by_round(self, way: str, on: str) -> Band | None:
        """Return a way's band over all seeds."""
        return band([curve for run in self if (curve := run.curves.get((way, on)))])


def ended(trial: Trial, run: RunRecord | None) -> Seeded | None:
    """Return the scores of a trial's run; None where it hasn't completed, or doesn't have all three ways."""
    if run is None or run.status != "completed":
        return None
    results = {way: way_results(run, way) for way in WAYS}
    scores: dict[tuple[str, str], Any] = {(way, on): results[way].get(f"{on}_score") for way, on in WAYS_ON}
    if not all(map(number, scores.values())):
        return None
    return Seeded(seed_of(trial), run.id, scores, {(way, on): curve(results[way].get(on)) for way, on in WAYS_ON})


def running(trial: Trial, run: RunRecord, events: Iterable[Event], measure: str) -> Seeded:
    """Return the scores of a run that goes on, from the events of its rank 0 (see `names`)."""
    return Seeded(seed_of(trial), run.id, {}, curves_of(events, {name: key for key, name in names(measure).items()}))


def way_results(run: RunRecord, way: str) -> Mapping[str, Any]:
    """Return a run's metrics of a way; empty without any."""
    by_way = run.metrics.get("by_way")
    results = by_way.get(way) if isinstance(by_way, Mapping) else None
    return results if isinstance(results, Mapping) else {}


def curves_of(events: Iterable[Event], keys: Mapping[str, Any]) -> dict[Any, dict[int, float]]:
    """Return the values of events by round, for each key of `keys` (event name -> key). NaN is left out."""
    curves: dict[Any, dict[int, float]] = {}
    for event in events:
        if event.name in keys and event.step is not None and math.isfinite(event.value):
            curves.setdefault(keys[event.name], {})[event.step] = event.value
    return curves


def names(measure: str) -> dict[tuple[str, str], str]:
    """Return the names of the events with a round's scores: (way, on) -> name."""
    return {
        (way, on): f"{'' if way == WAYS[0] else f'{way} '}{on.replace('_', '-')} {measure}" for way in WAYS for on in ON
    }


def seed_of(trial: Trial) -> int:
    return int(trial.params[SEED])


def curve(values: Any) -> dict[int, float]:
    """Return a metric's values by round. Values that are not numbers are left out."""
    entries = values if isinstance(values, Sequence) and not isinstance(values, str) else ()
    return {at: float(value) for at, value in enumerate(entries, 1) if number(value)}
