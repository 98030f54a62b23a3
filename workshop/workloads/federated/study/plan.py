"""Plans of three ways of learning, a grid over the way whose repeats have seeds, and the scores of their runs: final,
by round, and as bands over the seeds.

A seed is that of the weights, of the partition, and of the order of the images. So the ways can be compared seed by
seed, where all have had the same luck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from pydantic import Field

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, default_for
from workshop.extension import Params, Workload
from workshop.report.activity import SEED
from workshop.report.analysis.findings import number
from workshop.sessions import client
from workshop.store.records import Event, RunRecord, SessionRecord, Trial
from workshop.store.store import Store
from workshop.study.grid.plan import between
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.results import Paired
from workshop.study.trials import Cell, Plan

KIND = "ways"
SEEDS = 5  # with fewer seeds, even full agreement may be chance
MOST = 100
WAYS = ("federated", "centralised", "alone")
WAY, ALL = "way", "all"  # a run with `all` learns in each of them
UNGUARDED = {"attack": "none", "rule": "mean", "privacy": "none"}  # where nobody sends updates
# The workloads that learn in three ways, and the word for what each measures.
MEASURES = {"federated": "accuracy", "segmentation": "Dice"}
# The defaults of a study. The workload's own defaults deal digits so unevenly that learning alone is clearly worse.
# These add enough rounds for all three ways to converge, and so few images that five seeds take a few minutes on two
# cores, even where all of MNIST is available.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "federated": {"images": 1400, "rounds": 20},
    "segmentation": {},
}


def plan(workload: Workload, options: Mapping[str, Any], placement: Placement, seeds: int = SEEDS) -> Plan:
    """Return a study from the workload's params that were set (`options`). Raises BadInput."""
    if workload.name not in MEASURES:
        raise BadInput(f"{workload.name} doesn't learn in three ways; {' and '.join(MEASURES)} do.")
    between("seeds", seeds, 1, MOST)
    if options.get(WAY, ALL) != ALL:
        raise BadInput(f"way is {options[WAY]!r}, but this study sets all three side by side; leave it out.")
    settings = {**SETTINGS[workload.name], **options, WAY: ALL}
    base = workload.check(settings).model_dump(mode="json")
    workload.check({**base, SEED: base[SEED] + seeds - 1})
    where, measure = placement.as_json(), MEASURES[workload.name]
    cells = []
    for way in WAYS:
        guard = {} if way == WAYS[0] else UNGUARDED
        params = workload.check({**base, **guard, WAY: way}).model_dump(mode="json")
        cells.append(Cell(way, params, where, {WAY: way}))
    described = {
        "seeds": True,
        "repeats": seeds,
        "measure": measure,
        "rate": f"held_out_{measure.lower()}",
        "unit": f"held-out {measure}",
        "params": base,
        "placement": where,
    }
    return Plan(KIND, workload.name, described, tuple(cells), seeds)


def checked(
    store: Store,
    workload: Workload,
    options: Mapping[str, Any],
    seeds: int,
    session: SessionRecord | None,
    placement: Placement | None = None,
) -> Plan:
    """Return a study for a session (None: a private one). `placement` is by default the session's or this machine's.
    Raises BadInput for params, a placement or inputs that can't work."""
    if placement is None and not (session is not None and session.placement):
        placement = default_for(topology.allowed_cores(topology.machine()))
    where = client.placement_in(session, placement.as_json() if placement is not None else None)
    study = plan(workload, options, where, seeds)
    client.inputs_of(store, workload, workload.check(study.cells[0].params), where)
    return study


class WaysOptions(Params):
    """Settings of a study of three ways."""

    seeds: int = Field(SEEDS, ge=1, le=MOST, description="runs of each way; a seed is the same for all three")


def _plan(form: StudyRequest) -> Plan:
    return checked(form.store, form.workload, form.params, form.options.seeds, form.session, form.placement)


FORM = StudyForm(
    "Three ways: pooled data, alone, federated",
    WaysOptions,
    _plan,
    takes=lambda workload: workload.name in MEASURES,
    start=lambda workload, options: SETTINGS[workload.name],
    hidden=lambda workload: (WAY,),
    placement=("ranks", "threads", "map_by", "cores_per_rank", "bind_to", "environment"),
)


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


@dataclass
class Seeded:
    """The scores (0 to 1) of a seed's runs, for each way on each data: final ones, and by round so far."""

    seed: int
    runs: list[int] = field(default_factory=list)
    scores: dict[tuple[str, str], float] = field(default_factory=dict)  # (way, on) -> final score
    curves: dict[tuple[str, str], Curve] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return len(self.scores) == len(WAYS_ON)

    def as_json(self) -> dict[str, Any]:
        scores = {way: {on: self.scores.get((way, on)) for on in ON} for way in WAYS}
        return {"seed": self.seed, "runs": self.runs, **scores}

    def add(self, run: RunRecord) -> None:
        """Add the scores of the ways in which a completed run has learned."""
        for way, on in WAYS_ON:
            results = (run.metrics.get("by_way") or {}).get(way) or {}
            if number(score := results.get(f"{on}_score")):
                self.scores[way, on] = score
                rounds = enumerate(results.get(on) or (), 1)
                self.curves[way, on] = {at: float(value) for at, value in rounds if number(value)}
        self.runs.append(run.id)

    def watch(self, run: RunRecord, events: Iterable[Event], measure: str) -> None:
        """Add the rounds of a run that goes on, from the events of its rank 0. NaN is left out."""
        keys = {name: key for key, name in names(measure, run.params[WAY]).items()}
        curves: dict[tuple[str, str], dict[int, float]] = {}
        for event in events:
            if event.name in keys and event.step is not None and math.isfinite(event.value):
                curves.setdefault(keys[event.name], {})[event.step] = event.value
        self.curves |= curves
        self.runs.append(run.id)


class Seeds(list[Seeded]):
    """The seeds with which all three ways have ended."""

    def scores(self, way: str, on: str) -> list[float]:
        return [seeded.scores[way, on] for seeded in self]

    def compare(self, way: str, other: str, on: str) -> Paired | None:
        """Compare two ways, seed by seed; None without a seed."""
        return Paired(tuple(zip(self.scores(way, on), self.scores(other, on), strict=True))) if self else None

    def by_round(self, way: str, on: str) -> Band | None:
        """Return a way's band over all seeds."""
        return band([curve for seeded in self if (curve := seeded.curves.get((way, on)))])


def names(measure: str, way: str = ALL) -> dict[tuple[str, str], str]:
    """Return the names of the events with a round's scores in a run of a way: (way, on) -> name. The first way of a
    run has no prefix."""
    ways = WAYS if way == ALL else (way,)
    return {
        (each, on): f"{'' if each == ways[0] else f'{each} '}{on.replace('_', '-')} {measure}"
        for each in ways
        for on in ON
    }


def seed_of(trial: Trial) -> int:
    return int(trial.params[SEED])
