"""Three ways side by side as a kind of study: the results of the seeds so far, the run that goes on, and the
verdict on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import number, percent, points
from workshop.store.records import RunRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.guided.kind import Answer, NumberGuess
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import AGREED, Paired, failure, standard_error
from workshop.study.trials import status
from workshop.workloads.federated.study import plan
from workshop.workloads.federated.study.plan import ON, WAYS, WAYS_ON, Seeded, Seeds, ended, names, running, seed_of

NAMES = {"federated": "federated", "centralised": "pooled", "alone": "alone"}
DATA = {"held_out": "held-out images", "own": "institutions' own images"}
# The ways' names behind "above", "behind" and similar words.
AGAINST = {"centralised": "pooled images", "alone": "each alone"}
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


CLOSE = 0.02  # of a score: two points, within which two ways count as close
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


def verdict(seeds: Seeds, params: Mapping[str, Any], workload: str, finished: bool, failed: str = "") -> dict[str, str]:
    """Return verdict, why and next from the results so far. `failed` is the sentence of seeds that failed.

    A difference counts where all seeds agree; otherwise two ways can't be told apart.
    """
    if not seeds and finished:
        following = "Mend that, then run it again (--failed)."
        return {"verdict": "No seed came to an end.", "why": failed, "next": following}
    if not seeds:
        following = "Guess meanwhile: how far will federated learning be from pooled images, and above each alone?"
        why = failed or "The rounds of a run that goes on are drawn below."
        return {"verdict": "No seed has come to its end yet.", "why": why, "next": following}
    pairs = {way: pair for way in AGAINST if (pair := seeds.compare(FEDERATED, way, HELD_OUT)) is not None}
    sides = {way: f"{'above' if pair.mean > 0 else 'behind'} {AGAINST[way]}" for way, pair in pairs.items()}
    differences = [f"{points(abs(pair.mean))} {sides[way]}" for way, pair in pairs.items() if pair.agreed]
    tied = " or from ".join(AGAINST[way] for way, pair in pairs.items() if not pair.agreed)
    stands = ([f"can't be told from {tied}"] if tied else []) + (
        [f"is {' and '.join(differences)}"] if differences else []
    )
    several = len(seeds) > 1
    over = f"over {words.count(len(seeds), 'seed')}" if several else "with one seed"
    whys = []
    for on, what in zip(ON, (f" ({'mean ± standard deviation' if several else 'one seed'})", ""), strict=True):
        scores = "; ".join(f"{NAMES[way]} {spread(seeds.scores(way, on))}" for way in WAYS)
        whys.append(f"On {DATA[on]}{what}: {scores}.")
    if several:
        errors = {way: 100 * (standard_error(pair.differences) or 0.0) for way, pair in pairs.items()}
        each = [
            f"{100 * abs(pair.mean):.1f} ± {errors[way]:.1f} points {sides[way]} with "
            f"{max(pair.better, pair.worse)} of {len(pair.pairs)} seeds"
            for way, pair in pairs.items()
        ]
        whys.append(f"Seed by seed (± the mean's standard error) it is {', and '.join(each)}.")
    return {
        "verdict": f"Federated learning {' and '.join(stands)} on {DATA[HELD_OUT]}, {over}.",
        "why": " ".join([*whys, failed]).strip(),
        "next": _next(params, workload, pairs[POOLED], pairs[ALONE]),
    }


def _next(params: Mapping[str, Any], workload: str, pooled: Paired, alone: Paired) -> str:
    if len(pooled.pairs) < AGREED:
        return f"Give it more seeds (--seeds {AGREED}): so few can all agree by chance."
    if pooled.mean < -CLOSE and pooled.agreed:
        if params.get("algorithm") == "fedavg":
            return "Hold local models near the shared one (--algorithm fedprox), or give it more rounds, and compare."
        return f"Give it more rounds (--rounds {2 * int(params.get('rounds') or 1)}): does it come to pooled images?"
    if not alone.sure or alone.mean <= CLOSE:
        unlike = "label" if workload == "federated" else "shift"
        return f"Make institutions less alike (--partition {unlike}): when does it pay to learn together?"
    return "Attack it, protect it, or run the same with OpenFL: see the page Three ways to learn."


@dataclass(frozen=True)
class WaysReport(Report):
    """A study of three ways: the results of its seeds, and the run that goes on."""

    seeds: Seeds
    now: Seeded | None  # the run that goes on

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
            "by_seed": [run.as_json() for run in self.seeds],
            "now": None if self.now is None else {"seed": self.now.seed, "run": self.now.run},
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
    params, measure = study.description["params"], study.description["measure"]
    seeds, now = Seeds(), None
    for trial in trials:
        run = runs.get(trial.run_id or 0)
        if (seeded := ended(trial, run)) is not None:
            seeds.append(seeded)
        elif run is not None and run.status == "running":
            now = running(trial, run, store.events(run.id, names(measure).values(), rank=0), measure)
    failed = ""
    if broken := [trial for trial in trials if status(trial, runs) == "failed"]:
        why = failure(broken[0], runs.get(broken[0].run_id or 0)).rstrip(".")
        failed = f"{words.capital(words.numbered('seed', [seed_of(trial) for trial in broken]))} failed: {why}."
    conclusion = verdict(seeds, params, study.workload, study.finished_at is not None, failed)
    return WaysReport(study, trials, runs, conclusion, seeds, now)


def title(study: StudyRecord) -> str:
    """Return a study's title."""
    description = study.description
    who = words.count(description["params"]["institutions"], "institution")
    return f"three ways side by side: {study.workload}, {who}, {words.count(description['seeds'], 'seed')}"


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
