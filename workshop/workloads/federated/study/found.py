"""What runs of three ways have told: at their end, and by round while they go on. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.report.analysis.scores import number
from workshop.store.records import Event, RunRecord, Trial
from workshop.study.grid.seeds import SEED
from workshop.workloads.federated.study.spread import Band, Paired, Spread, band, paired

WAYS = ("federated", "centralised", "alone")  # in the order in which runs learn them
ON = ("held_out", "own")  # data that no institution has, and each one's own
_EVENTS = {"held_out": "held-out", "own": "own"}

Curve = Mapping[int, float]  # round, from 1 -> score
Curves = Mapping[tuple[str, str], Curve]  # of a way on some data


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


def ended(trial: Trial, run: RunRecord | None) -> Seeded | None:
    """What a trial's run came to; None where it hasn't completed, or told something else than three ways."""
    by_way = run.metrics.get("by_way") if run is not None and run.status == "completed" else None
    if run is None or not isinstance(by_way, Mapping):
        return None
    scores, curves = {}, {}
    for way in WAYS:
        told = by_way.get(way)
        if not isinstance(told, Mapping):
            return None
        for on in ON:
            last = told.get(f"{on}_score")
            if not number(last):
                return None
            scores[way, on] = float(last)
            curves[way, on] = curve(told.get(on))
    return Seeded(seed_of(trial), run.id, scores, curves)


def going(trial: Trial, run: RunRecord, events: Iterable[Event], measure: str) -> Seeded:
    """A run that goes on, from what its rank 0 has told: see `names`."""
    about = {name: key for key, name in names(measure).items()}
    curves: dict[tuple[str, str], dict[int, float]] = {}
    for event in events:
        if event.name in about and event.step is not None and math.isfinite(event.value):
            curves.setdefault(about[event.name], {})[event.step] = event.value
    return Seeded(seed_of(trial), run.id, {}, curves)


def names(measure: str) -> dict[tuple[str, str], str]:
    """The events by which runs tell the scores of a round: (way, on) -> name. The first way's have no way's name."""
    return {(way, on): f"{'' if way == WAYS[0] else f'{way} '}{_EVENTS[on]} {measure}" for way in WAYS for on in ON}


def seed_of(trial: Trial) -> int:
    return int(trial.params[SEED])


def spread(found: Sequence[Seeded], way: str, on: str) -> Spread | None:
    """A way's scores over the seeds; None where there are none yet."""
    return Spread(tuple(one.scores[way, on] for one in found)) if found else None


def apart(found: Sequence[Seeded], one: str, other: str, on: str) -> Paired | None:
    """Two ways, seed by seed."""
    return paired(one, other, on, [(seed.scores[one, on], seed.scores[other, on]) for seed in found])


def by_round(found: Sequence[Seeded], way: str, on: str) -> Band | None:
    """A way's curve over all seeds that have ended."""
    return band([curve for one in found if (curve := one.curves.get((way, on)))])


def closed(found: Sequence[Seeded]) -> float | None:
    """How much of the way from alone (0) to pooled data (1) federated learning has come on held-out data, by the means
    over the seeds; None where pooled data aren't better than alone with every seed, so that there is no way to go."""
    gain, whole = (apart(found, way, WAYS[2], ON[0]) for way in WAYS[:2])
    if gain is None or whole is None or whole.better < len(found):
        return None
    return gain.mean / whole.mean


def curve(values: Any) -> dict[int, float]:
    """A metric's values by round; those that are no numbers are left out."""
    told = values if isinstance(values, Sequence) and not isinstance(values, str) else ()
    return {at: float(value) for at, value in enumerate(told, 1) if number(value)}
