"""Three ways side by side as a kind of study: what the seeds have found so far, and the run that goes on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.report.analysis.scores import number
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.estimate import seconds_each
from workshop.study.grid.seeds import SEED
from workshop.study.kinds import Kind, Sofar, read
from workshop.study.report import Report
from workshop.study.results import failure
from workshop.study.trials import missing, remaining, status
from workshop.workloads.federated.study import found as of
from workshop.workloads.federated.study import plan, saying
from workshop.workloads.federated.study.found import ON, WAYS, Seeded
from workshop.workloads.federated.study.peers import Peer, peers
from workshop.workloads.federated.study.spread import Band, Paired, Spread
from workshop.workloads.federated.study.verdict import verdict
from workshop.workloads.federated.verdict import PUBLISHED

# What is compared, the better one by expectation first.
PAIRS = (("federated", "centralised"), ("federated", "alone"), ("centralised", "alone"))


@dataclass(frozen=True)
class WaysReport(Report):
    """Three ways of learning with several seeds, and what they have found."""

    found: Sequence[Seeded]  # one for each seed that has come to its end
    now: Seeded | None  # the run that goes on
    peers: Sequence[Peer]  # real federations with the same settings

    @property
    def measure(self) -> str:
        """The word for what is measured."""
        return self.study.description["measure"]

    @property
    def params(self) -> Mapping[str, Any]:
        return self.study.description["params"]

    @property
    def rounds(self) -> int:
        return int(self.params["rounds"])

    def spread(self, way: str, on: str) -> Spread | None:
        return of.spread(self.found, way, on)

    def by_round(self, way: str, on: str) -> Band | None:
        return of.by_round(self.found, way, on)

    def apart(self, one: str, other: str, on: str) -> Paired | None:
        return of.apart(self.found, one, other, on)

    def findings(self) -> dict[str, Any]:
        pairs = [self.apart(one, other, on) for on in ON for one, other in PAIRS]
        return {
            **self.study.description,
            "ways": {way: {on: _told(self.spread(way, on)) for on in ON} for way in WAYS},
            "by_round": {way: {on: _told(self.by_round(way, on)) for on in ON} for way in WAYS},
            "differences": [pair.as_json() for pair in pairs if pair is not None],
            "closed": of.closed(self.found),
            "by_seed": [one.as_json() for one in self.found],
            "now": None if self.now is None else {"seed": self.now.seed, "run": self.now.run, "rounds": _rounds(self)},
            "openfl": [peer.as_json() for peer in self.peers],
            "published": {**saying.PUBLISHED, "source": PUBLISHED},
        }


def ways_report(store: Store, study: StudyRecord) -> WaysReport:
    """What a study of three ways has found so far, by round also of the run that goes on."""
    trials, runs = read(store, study.id)
    told = study.description
    found, now = [], None
    for trial in trials:
        run = runs.get(trial.run_id or 0)
        if (one := of.ended(trial, run)) is not None:
            found.append(one)
        elif run is not None and run.status == "running":
            events = store.events(run.id, of.names(told["measure"]).values(), rank=0)
            now = of.going(trial, run, events, told["measure"])
    said = verdict(found, told["params"], study.workload, study.finished_at is not None, _why_not(trials, runs))
    return WaysReport(study, trials, runs, said, found, now, peers(store, study.workload, told["params"]))


def title(study: StudyRecord) -> str:
    """A study of three ways in a few words."""
    told = study.description
    who = words.count(told["params"]["institutions"], "institution")
    return f"three ways side by side: {study.workload}, {who}, {words.count(told['seeds'], 'seed')}"


def seconds(store: Store, sofar: Sofar) -> tuple[float, str]:
    """How long it is still likely to take: runs with other seeds take as long."""
    left = remaining(sofar.trials, sofar.runs, time.time())
    if left is not None:
        return left, "as those before"
    params = {name: value for name, value in sofar.study.description["params"].items() if name != SEED}
    each, why = seconds_each(store, sofar.study.workload, params)
    return each * len(missing(sofar.trials, sofar.runs)), why


def columns(run: RunRecord) -> dict[str, float]:
    """What a run tells beside its rate, in tables of trials: each way's scores."""
    by_way = run.metrics.get("by_way")
    told = by_way if isinstance(by_way, Mapping) else {}
    scores = {(way, on): (told.get(way) or {}).get(f"{on}_score") for way in WAYS for on in ON}
    return {f"{way}_{on}": value for (way, on), value in scores.items() if number(value)}


def _why_not(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> str:
    """A sentence on those that failed."""
    broken = [trial for trial in trials if status(trial, runs) == "failed"]
    if not broken:
        return ""
    first = failure(broken[0], runs.get(broken[0].run_id or 0)).rstrip(".")
    seeds = words.numbered("seed", [of.seed_of(trial) for trial in broken])
    return f"{words.capital(seeds)} failed: {first}."


def _rounds(report: WaysReport) -> dict[str, dict[str, dict[int, float]]]:
    curves = report.now.curves if report.now is not None else {}
    return {way: {on: dict(curves.get((way, on), {})) for on in ON} for way in WAYS}


def _told(one: Spread | Band | None) -> dict[str, Any] | None:
    return None if one is None else one.as_json()


KIND = Kind(plan.KIND, title, ways_report, seconds=seconds, measured=False, columns=columns)
