"""The results of runs in three ways, their spread over several seeds, and the differences between two ways. Pure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

from workshop.core.forms import applies
from workshop.extension import Params
from workshop.registry import workloads
from workshop.report.actions import params_of
from workshop.report.activity import SEED
from workshop.report.analysis.scores import number
from workshop.store.records import Event, RunRecord, Trial
from workshop.store.store import Store
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

    @cached_property
    def chance(self) -> float:
        """The p-value of the two-sided sign test without ties: how likely two equal ways differ so one-sidedly
        (Conover, Practical nonparametric statistics, 1999, section 3.4)."""
        decided, most = self.better + self.worse, max(self.better, self.worse)
        return min(2 * sum(math.comb(decided, count) for count in range(most, decided + 1)) / 2**decided, 1.0)

    @property
    def agreed(self) -> bool:
        """Whether all differences have the same sign."""
        return len(self.differences) in (self.better, self.worse)

    @property
    def sure(self) -> bool:
        """Whether all differences have the same sign, with enough seeds to be significant."""
        return self.agreed and len(self.differences) >= AGREED

    def as_json(self) -> dict[str, Any]:
        names = ("other", "on", "mean", "error", "share", "share_error", "better", "worse", "chance", "sure")
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

    def as_json(self) -> dict[str, Any]:
        return {name: list(getattr(self, name)) for name in ("rounds", "means", "lows", "highs")} | {
            "seeds": self.seeds
        }


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

    @property
    def closed(self) -> float | None:
        """The position of federated learning between alone (0) and pooled data (1) on held-out data, by the means over
        the seeds; None where pooled data aren't better than alone with every seed."""
        gain, pooled = (self.compare(way, WAYS[2], ON[0]) for way in WAYS[:2])
        return (
            gain.mean / pooled.mean if gain is not None and pooled is not None and pooled.better == len(self) else None
        )


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


OPENFL = "openfl"
OURS = "federated"  # the workload whose runs are compared with those over OpenFL
SAME = {"collaborators": "institutions"}  # OpenFL's name of a setting -> ours
FAULT, NONE = "fault", "none"
VARYING = ("way", SEED)  # our settings that may differ
RECENT = 50  # newest runs that are searched
MEASURE = "accuracy"


@dataclass(frozen=True)
class Peer:
    """A real federation: its final scores (0 to 1), and its scores by round so far."""

    run: int
    seed: int
    ended: bool
    scores: Mapping[str, float]  # held_out, own; none while it goes on
    curves: Mapping[str, Curve]

    def as_json(self) -> dict[str, Any]:
        return {"run": self.run, "seed": self.seed, "ended": self.ended, **{on: self.scores.get(on) for on in ON}}


def peers(store: Store, workload: str, params: Mapping[str, Any]) -> list[Peer]:
    """Return the real federations with a study's settings, completed or running, the oldest first."""
    registered = workloads()
    if workload != OURS or OPENFL not in registered or OURS not in registered:
        return []
    federations = []
    for run in store.runs(workload=OPENFL, limit=RECENT):
        if run.status in ("completed", "running") and same_settings(params, run.params, registered[OURS].params):
            keys = {names(MEASURE)[OURS, on]: on for on in ON}
            events = store.events(run.id, keys, rank=0) if run.status == "running" else ()
            if (peer := _peer(run, events, keys)) is not None:
                federations.append(peer)
    return federations[::-1]


def same_settings(ours: Mapping[str, Any], peer_params: Mapping[str, Any], model: type[Params]) -> bool:
    """Return whether a real federation has the same settings except for the seed. Settings that only `model` has must
    have their defaults, and nothing may be broken on purpose."""
    if peer_params.get(FAULT, NONE) != NONE:
        return False
    renamed = {SAME.get(name, name): value for name, value in peer_params.items()}
    if "institutions" not in renamed or "rounds" not in renamed:
        return False
    for name, field in model.model_fields.items():
        if name in VARYING or name not in ours:
            continue
        if ours[name] != renamed.get(name, field.get_default(call_default_factory=True)) and applies(field, ours):
            return False
    return True


def start_command(params: Mapping[str, Any]) -> str:
    """Return the command that runs a real federation with a study's settings, as far as it has them."""
    workload = workloads().get(OPENFL)
    openfl_names = {SAME.get(name, name): name for name in (workload.params.model_fields if workload else ())}
    values = {openfl_names[name]: value for name, value in params.items() if name in openfl_names}
    options = params_of(workload, values) if workload else []
    return shlex.join(["workshop", "federation", "start", *options])


def _peer(run: RunRecord, events: Iterable[Event], keys: Mapping[str, str]) -> Peer | None:
    seed, results = int(run.params.get(SEED) or 0), way_results(run, OURS)
    if run.status == "running":
        return Peer(run.id, seed, False, {}, curves_of(events, keys))
    scores = {on: float(value) for on in ON if number(value := results.get(f"{on}_score"))}
    return Peer(run.id, seed, True, scores, {on: curve(results.get(on)) for on in ON}) if ON[0] in scores else None
