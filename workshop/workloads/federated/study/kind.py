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
from workshop.study.kinds import Kind, Sofar, read
from workshop.study.report import Report
from workshop.study.results import failure
from workshop.study.trials import missing, remaining, status
from workshop.workloads.federated.report.verdict import PUBLISHED
from workshop.workloads.federated.study import plan, sentences
from workshop.workloads.federated.study.real_federations import Peer, peers
from workshop.workloads.federated.study.results import (
    ON,
    WAYS,
    WAYS_ON,
    Band,
    Paired,
    Seeded,
    Seeds,
    Spread,
    came_to,
    ended,
    going,
    names,
    seed_of,
)
from workshop.workloads.federated.study.verdict import verdict

# What is compared, the better one by expectation first.
PAIRS = (("federated", "centralised"), ("federated", "alone"), ("centralised", "alone"))


@dataclass(frozen=True)
class WaysReport(Report):
    """Three ways of learning with several seeds, and what they have found."""

    found: Seeds
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

    @property
    def pairs(self) -> list[Paired]:
        """All differences, on one data after the other."""
        told = (self.found.apart(one, other, on) for on in ON for one, other in PAIRS)
        return [pair for pair in told if pair is not None]

    def findings(self) -> dict[str, Any]:
        return {
            **self.study.description,
            "ways": {way: {on: _told(self.found.spread(way, on)) for on in ON} for way in WAYS},
            "by_round": {way: {on: _told(self.found.by_round(way, on)) for on in ON} for way in WAYS},
            "differences": [pair.as_json() for pair in self.pairs],
            "closed": self.found.closed,
            "by_seed": [one.as_json() for one in self.found],
            "now": None if self.now is None else {"seed": self.now.seed, "run": self.now.run, "rounds": _rounds(self)},
            "openfl": [peer.as_json() for peer in self.peers],
            "published": {**sentences.PUBLISHED, "source": PUBLISHED},
        }


def ways_report(store: Store, study: StudyRecord) -> WaysReport:
    """What a study of three ways has found so far, by round also of the run that goes on."""
    trials, runs = read(store, study.id)
    told = study.description
    found, now = Seeds(), None
    for trial in trials:
        run = runs.get(trial.run_id or 0)
        if (one := ended(trial, run)) is not None:
            found.append(one)
        elif run is not None and run.status == "running":
            events = store.events(run.id, names(told["measure"]).values(), rank=0)
            now = going(trial, run, events, told["measure"])
    said = verdict(found, told["params"], study.workload, study.finished_at is not None, _why_not(trials, runs))
    return WaysReport(study, trials, runs, said, found, now, peers(store, study.workload, told["params"]))


def title(study: StudyRecord) -> str:
    """A study of three ways in a few words."""
    told = study.description
    who = words.count(told["params"]["institutions"], "institution")
    return f"three ways side by side: {study.workload}, {who}, {words.count(told['seeds'], 'seed')}"


def seconds(store: Store, sofar: Sofar) -> tuple[float, str]:
    """How long it is still likely to take."""
    left = remaining(sofar.trials, sofar.runs, time.time())
    if left is not None:
        return left, "as those before"
    each, why = plan.seconds_of_one(store, sofar.study.workload, sofar.study.description["params"])
    return each * len(missing(sofar.trials, sofar.runs)), why


def columns(run: RunRecord) -> dict[str, float]:
    """What a run tells beside its rate, in tables of trials: each way's scores."""
    scores = {f"{way}_{on}": came_to(run, way).get(f"{on}_score") for way, on in WAYS_ON}
    return {name: value for name, value in scores.items() if number(value)}


def _why_not(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> str:
    """A sentence on those that failed."""
    broken = [trial for trial in trials if status(trial, runs) == "failed"]
    if not broken:
        return ""
    first = failure(broken[0], runs.get(broken[0].run_id or 0)).rstrip(".")
    seeds = words.numbered("seed", [seed_of(trial) for trial in broken])
    return f"{words.capital(seeds)} failed: {first}."


def _rounds(report: WaysReport) -> dict[str, dict[str, dict[int, float]]]:
    curves = report.now.curves if report.now is not None else {}
    return {way: {on: dict(curves.get((way, on), {})) for on in ON} for way in WAYS}


def _told(one: Spread | Band | None) -> dict[str, Any] | None:
    return None if one is None else one.as_json()


KIND = Kind(plan.KIND, title, ways_report, seconds=seconds, measured=False, columns=columns)
