"""The scores of runs in three ways, final and by round, and their bands over several seeds. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from workshop.report.activity import SEED
from workshop.report.analysis.findings import number
from workshop.store.records import Event, RunRecord, Trial
from workshop.study.results import Paired

WAYS = ("federated", "centralised", "alone")  # in the order in which runs learn them
ON = ("held_out", "own")  # the data of a score: images that no institution has, or each institution's own
WAYS_ON = [(way, on) for on in ON for way in WAYS]

Curve = Mapping[int, float]  # round, from 1 -> score


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
    columns = [[curve[at] for curve in curves] for at in common]
    means, lows, highs = tuple(map(fmean, columns)), tuple(map(min, columns)), tuple(map(max, columns))
    return Band(tuple(common), means, lows, highs, len(curves)) if common else None


@dataclass(frozen=True)
class Seeded:
    """One run's scores (0 to 1), for each way on each data: final ones, and by round so far."""

    seed: int
    run: int
    scores: Mapping[tuple[str, str], float]  # (way, on) -> final score; empty while the run goes on
    curves: Mapping[tuple[str, str], Curve]

    def as_json(self) -> dict[str, Any]:
        scores = {way: {on: self.scores.get((way, on)) for on in ON} for way in WAYS}
        return {"seed": self.seed, "run": self.run, **scores}


class Seeds(list[Seeded]):
    """The completed runs, one for each seed."""

    def scores(self, way: str, on: str) -> list[float]:
        return [run.scores[way, on] for run in self]

    def compare(self, way: str, other: str, on: str) -> Paired | None:
        """Compare two ways, seed by seed; None without a seed."""
        return Paired(tuple(zip(self.scores(way, on), self.scores(other, on), strict=True))) if self else None

    def by_round(self, way: str, on: str) -> Band | None:
        """Return a way's band over all seeds."""
        return band([curve for run in self if (curve := run.curves.get((way, on)))])


def ended(trial: Trial, run: RunRecord | None) -> Seeded | None:
    """Return the scores of a trial's run; None where it hasn't completed, or doesn't have all three ways."""
    if run is None or run.status != "completed":
        return None
    by_way = run.metrics.get("by_way") or {}
    values_by_key = {
        (way, on): ((by_way.get(way) or {}).get(f"{on}_score"), by_way.get(way, {}).get(on)) for way, on in WAYS_ON
    }
    scores = {key: score for key, (score, _) in values_by_key.items() if number(score)}
    curves = {
        key: {at: float(value) for at, value in enumerate(values or (), 1) if number(value)}
        for key, (_, values) in values_by_key.items()
    }
    return Seeded(seed_of(trial), run.id, scores, curves) if len(scores) == len(values_by_key) else None


def running(trial: Trial, run: RunRecord, events: Iterable[Event], measure: str) -> Seeded:
    """Return the scores of a run that goes on, from the events of its rank 0 (see `names`). NaN is left out."""
    keys = {name: key for key, name in names(measure).items()}
    curves: dict[tuple[str, str], dict[int, float]] = {}
    for event in events:
        if event.name in keys and event.step is not None and math.isfinite(event.value):
            curves.setdefault(keys[event.name], {})[event.step] = event.value
    return Seeded(seed_of(trial), run.id, {}, curves)


def names(measure: str) -> dict[tuple[str, str], str]:
    """Return the names of the events with a round's scores: (way, on) -> name."""
    return {
        (way, on): f"{'' if way == WAYS[0] else f'{way} '}{on.replace('_', '-')} {measure}" for way in WAYS for on in ON
    }


def seed_of(trial: Trial) -> int:
    return int(trial.params[SEED])
