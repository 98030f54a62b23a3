"""Three ways side by side as a kind of study: the results of the seeds so far, the run that goes on, and the
facts of the verdict on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import number, percent
from workshop.store.records import RunRecord, StudyRecord
from workshop.store.store import Store
from workshop.study import verdicts
from workshop.study.guided.kind import Answer, NumberGuess
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import AGREED, Paired, failure, standard_error
from workshop.study.trials import status
from workshop.workloads.federated.study import plan
from workshop.workloads.federated.study.plan import ON, WAY, WAYS, WAYS_ON, Seeded, Seeds, names, seed_of

NAMES = {"federated": "federated", "centralised": "pooled", "alone": "alone"}
DATA = {"held_out": "held-out images", "own": "institutions' own images"}
PUBLISHED = (
    "Sheller et al. (2020, Scientific Reports 10:12598) report that a network which segments brain tumours, trained on "
    "the data of all institutions, is about 17 % better on held-out data than trained on one institution's alone, and "
    "about 2.6 % better on that institution's own validation data."
)
PUBLISHED_GAINS = {"held_out": 0.17, "own": 0.026}
PUBLISHED_BY = "Sheller et al. 2020"
CAVEAT = (
    "Theirs are ten institutions' brain scans, a U-Net, and how well its outlines cover a tumour; here are other "
    "images, another measure, and institutions that were made as unlike as this study asked for. So what compares is "
    "in which order the ways come, not by how much."
)


HELD_OUT = ON[0]
FEDERATED, POOLED, ALONE = WAYS
# The ways that are compared, first the one that is expected to be better.
PAIRS = ((FEDERATED, POOLED), (FEDERATED, ALONE), (POOLED, ALONE))


def spread(scores: Sequence[float]) -> str:
    """Return the mean and the standard deviation of at least one seed's scores: 93.1 ± 0.4 %."""
    if len(scores) < 2:
        return percent(scores[0])
    return f"{100 * fmean(scores):.1f} ± {100 * stdev(scores):.1f} %"


def mean_words(differences: Sequence[float], unit: str) -> str:
    """Return a mean difference and its standard error: +31.4 ± 1.9 points."""
    if not differences:
        return "–"
    error = standard_error(differences)
    return f"{100 * fmean(differences):+.1f}{'' if error is None else f' ± {100 * error:.1f}'} {unit}"


def verdict(seeds: Seeds, study: StudyRecord, failed: Sequence[int], failed_why: str) -> dict[str, str]:
    """Return verdict, why and next by the rules of verdicts.yaml. `failed` are the seeds of failed runs."""
    pairs = {other: pair for way, other in PAIRS[:2] if (pair := seeds.compare(way, other, HELD_OUT)) is not None}
    named = {
        "seeds": len(seeds),
        "enough": AGREED,
        "finished": study.finished_at is not None,
        "failed": failed,
        "failed_why": failed_why,
        "workload": study.workload,
        "params": study.description["params"],
        "pairs": list(pairs.values()),
        **{NAMES[other]: pair for other, pair in pairs.items()},
        "error": lambda pair: standard_error(pair.differences) or 0.0,
        "scores": {
            on: "; ".join(f"{NAMES[way]} {spread(seeds.scores(way, on))}" for way in WAYS) for on in ON if seeds
        },
    }
    return verdicts.verdict(plan.KIND, named, __package__)


@dataclass(frozen=True)
class WaysReport(Report):
    """A study of three ways: the results of its seeds, and the seed whose run goes on."""

    seeds: Seeds
    now: Seeded | None  # the seed whose run goes on

    @property
    def pairs(self) -> list[tuple[str, str, str, Paired]]:
        """All comparisons (way, other, on), first those on held-out data."""
        compared = [(way, other, on, self.seeds.compare(way, other, on)) for on in ON for way, other in PAIRS]
        return [(way, other, on, pair) for way, other, on, pair in compared if pair is not None]

    def findings(self) -> dict[str, Any]:
        bands = {(way, on): self.seeds.by_round(way, on) for way, on in WAYS_ON}
        return {
            **self.study.description,
            "ways": {way: {on: _spread_json(self.seeds.scores(way, on)) for on in ON} for way in WAYS},
            "by_round": {way: {on: (asdict(band) if (band := bands[way, on]) else None) for on in ON} for way in WAYS},
            "differences": [
                {
                    **{"one": way, "other": other, "on": on, "mean": pair.mean},
                    "error": standard_error(pair.differences),
                    "share": fmean(pair.shares) if pair.shares else None,
                    "share_error": standard_error(pair.shares),
                    **{name: getattr(pair, name) for name in ("better", "worse", "sure", "differences")},
                }
                for way, other, on, pair in self.pairs
            ],
            "by_seed": [seeded.as_json() for seeded in self.seeds],
            "now": None if self.now is None else {"seed": self.now.seed, "run": self.now.runs[-1]},
            "published": {**PUBLISHED_GAINS, "source": PUBLISHED},
        }


def _spread_json(scores: Sequence[float]) -> dict[str, Any] | None:
    if not scores:
        return None
    deviation = stdev(scores) if len(scores) > 1 else None
    extremes = {"low": min(scores), "high": max(scores)}
    return {"mean": fmean(scores), "deviation": deviation, **extremes, "values": list(scores)}


def ways_report(store: Store, study: StudyRecord) -> WaysReport:
    """Return a study of three ways with its results so far, also those of the run that goes on."""
    trials, runs = read(store, study.id)
    measure = study.description["measure"]
    by_seed: dict[int, Seeded] = {}
    broken: dict[int, str] = {}  # seed -> the reason why a run failed
    now: Seeded | None = None
    for trial in trials:
        run, seed = runs.get(trial.run_id or 0), seed_of(trial)
        seeded = by_seed.setdefault(seed, Seeded(seed))
        if status(trial, runs) == "failed":
            broken.setdefault(seed, failure(trial, run).rstrip("."))
        elif run is not None and run.status == "completed":
            seeded.add(run)
        elif run is not None and run.status == "running":
            now = seeded
            seeded.watch(run, store.events(run.id, names(measure, run.params[WAY]).values(), rank=0), measure)
    seeds = Seeds(seeded for seeded in by_seed.values() if seeded.complete)
    conclusion = verdict(seeds, study, list(broken), next(iter(broken.values()), ""))
    return WaysReport(study, trials, runs, conclusion, seeds, now)


def title(study: StudyRecord) -> str:
    """Return a study's title."""
    description = study.description
    who = words.count(description["params"]["institutions"], "institution")
    seeds = description.get("repeats", description["seeds"])  # seeds: of studies whose runs learned in all three ways
    return f"three ways side by side: {study.workload}, {who}, {words.count(seeds, 'seed')}"


def columns(run: RunRecord) -> dict[str, float]:
    """Return a run's further columns in tables of trials: each way's scores."""
    by_way = run.metrics.get("by_way") or {}
    scores = {f"{way}_{on}": (by_way.get(way) or {}).get(f"{on}_score") for way, on in WAYS_ON}
    return {name: value for name, value in scores.items() if number(value)}


KIND = Kind(
    plan.KIND,
    title,
    ways_report,
    measured=False,
    columns=columns,
    cards="workshop.workloads.federated.study.cards:cards",
    view="workshop.workloads.federated.page:view",
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
    ),
    "alone": NumberGuess("And how far above each institution alone, on the same images?", "points", -50.0, 100.0, 0.5),
}


def answer(report: WaysReport, other: str) -> Answer | None:
    """Return the difference from the other way on held-out data, in points, behind pooled images and above each alone;
    None before a seed has ended."""
    pair = report.seeds.compare(FEDERATED, other, HELD_OUT)
    if pair is None:
        return None
    # No guess can be expected to be closer than two standard errors.
    margin = max(2 * (standard_error(pair.differences) or 0.0), LEAST)
    return Answer(round((-100 if other == POOLED else 100) * pair.mean, 1), margin=round(100 * margin, 1))
