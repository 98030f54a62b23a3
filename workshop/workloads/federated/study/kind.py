"""Three ways side by side as a kind of study: the results of the seeds so far, and the run that goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.report.analysis.scores import number
from workshop.report.cards import Card
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.guided.guesses import Answer, NumberGuess, about
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import failure
from workshop.study.trials import status
from workshop.workloads.federated.report.verdict import PUBLISHED
from workshop.workloads.federated.study import plan
from workshop.workloads.federated.study import verdict as sentences
from workshop.workloads.federated.study.results import (
    ON,
    WAYS,
    WAYS_ON,
    Band,
    Paired,
    Peer,
    Seeded,
    Seeds,
    Spread,
    ended,
    names,
    peers,
    running,
    seed_of,
    way_results,
)
from workshop.workloads.federated.study.verdict import verdict

# The ways that are compared, first the one that is expected to be better.
PAIRS = (("federated", "centralised"), ("federated", "alone"), ("centralised", "alone"))


@dataclass(frozen=True)
class WaysReport(Report):
    """A study of three ways: the results of its seeds, the run that goes on, and real federations."""

    seeds: Seeds
    now: Seeded | None  # the run that goes on
    peers: Sequence[Peer]  # real federations with the same settings

    @property
    def measure(self) -> str:
        """The word for what is measured, such as accuracy."""
        return self.study.description["measure"]

    @property
    def params(self) -> Mapping[str, Any]:
        return self.study.description["params"]

    @property
    def rounds(self) -> int:
        return int(self.params["rounds"])

    @property
    def pairs(self) -> list[Paired]:
        """All differences, first those on held-out data."""
        differences = (self.seeds.compare(way, other, on) for on in ON for way, other in PAIRS)
        return [pair for pair in differences if pair is not None]

    def findings(self) -> dict[str, Any]:
        curves = self.now.curves if self.now is not None else {}
        rounds = {way: {on: dict(curves.get((way, on), {})) for on in ON} for way in WAYS}
        return {
            **self.study.description,
            "ways": {way: {on: _as_json(self.seeds.spread(way, on)) for on in ON} for way in WAYS},
            "by_round": {way: {on: _as_json(self.seeds.by_round(way, on)) for on in ON} for way in WAYS},
            "differences": [pair.as_json() for pair in self.pairs],
            "closed": self.seeds.closed,
            "by_seed": [run.as_json() for run in self.seeds],
            "now": None if self.now is None else {"seed": self.now.seed, "run": self.now.run, "rounds": rounds},
            "openfl": [peer.as_json() for peer in self.peers],
            "published": {**sentences.PUBLISHED, "source": PUBLISHED},
        }


def ways_report(store: Store, study: StudyRecord) -> WaysReport:
    """Return a study of three ways with its results so far, also those of the run that goes on."""
    trials, runs = read(store, study.id)
    description = study.description
    seeds, now = Seeds(), None
    for trial in trials:
        run = runs.get(trial.run_id or 0)
        if (seeded := ended(trial, run)) is not None:
            seeds.append(seeded)
        elif run is not None and run.status == "running":
            events = store.events(run.id, names(description["measure"]).values(), rank=0)
            now = running(trial, run, events, description["measure"])
    conclusion = verdict(
        seeds, description["params"], study.workload, study.finished_at is not None, _failed(trials, runs)
    )
    return WaysReport(study, trials, runs, conclusion, seeds, now, peers(store, study.workload, description["params"]))


def title(study: StudyRecord) -> str:
    """Return a study's title."""
    description = study.description
    who = words.count(description["params"]["institutions"], "institution")
    return f"three ways side by side: {study.workload}, {who}, {words.count(description['seeds'], 'seed')}"


def columns(run: RunRecord) -> dict[str, float]:
    """Return a run's further columns in tables of trials: each way's scores."""
    scores = {f"{way}_{on}": way_results(run, way).get(f"{on}_score") for way, on in WAYS_ON}
    return {name: value for name, value in scores.items() if number(value)}


def _failed(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> str:
    """Return a sentence on the seeds that failed; empty where none did."""
    broken = [trial for trial in trials if status(trial, runs) == "failed"]
    if not broken:
        return ""
    first = failure(broken[0], runs.get(broken[0].run_id or 0)).rstrip(".")
    seeds = words.numbered("seed", [seed_of(trial) for trial in broken])
    return f"{words.capital(seeds)} failed: {first}."


def _as_json(figure: Spread | Band | None) -> dict[str, Any] | None:
    return None if figure is None else figure.as_json()


KIND = Kind(
    plan.KIND,
    title,
    ways_report,
    measured=False,
    columns=columns,
    cards="workshop.workloads.federated.study.cards:cards",
    visible="workshop.workloads.federated.study.kind:visible",
    hidden="The page Federated asks what you expect; what came out is shown to those who have guessed.",
)


LEAST = 0.02  # the smallest margin of a score: a guess within two points is always right
# The way that federated learning is compared with -> the question.
ASKS: Mapping[str, NumberGuess] = {
    "centralised": NumberGuess(
        "How far will federated learning be behind pooled images, on images that nobody has? Below zero: ahead.",
        "points",
        -50.0,
        100.0,
        0.5,
        0.0,
    ),
    "alone": NumberGuess(
        "And how far above each institution alone, on the same images?", "points", -50.0, 100.0, 0.5, 0.0
    ),
}
_SIGNS = {"centralised": -1.0, "alone": 1.0}  # behind is below


def answer(report: WaysReport, other: str) -> Answer | None:
    """Return the difference from the other way on held-out data, in points; None before a seed has ended."""
    pair = report.seeds.compare("federated", other, ON[0])
    if pair is None:
        return None
    margin = max(2 * (pair.error or 0.0), LEAST)  # no guess can be expected to be closer than two standard errors
    return Answer(round(_SIGNS[other] * 100 * pair.mean, 1), margin=round(100 * margin, 1))


def visible(store: Store, identity: int, report: WaysReport, cards: Sequence[Card]) -> list[Card]:
    """Return all cards for a person who has guessed or has chosen to look; none before."""
    return list(cards) if any(store.guess(identity, about(report.study.id, other)) for other in ASKS) else []
