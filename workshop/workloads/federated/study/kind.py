"""Three ways side by side as a kind of study: the results of the seeds so far, the run that goes on, and the
verdict on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workshop.core import words
from workshop.report.analysis.scores import number, percent, points
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.grid.verdict import AGREED
from workshop.study.guided.guesses import Answer, NumberGuess
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import failure
from workshop.study.trials import status
from workshop.workloads.federated.study import plan
from workshop.workloads.federated.study.results import (
    ON,
    WAYS,
    WAYS_ON,
    Paired,
    Seeded,
    Seeds,
    Spread,
    ended,
    names,
    running,
    seed_of,
    way_results,
)

NAMES = {"federated": "federated", "centralised": "pooled", "alone": "alone"}
DATA = {"held_out": "held-out images", "own": "institutions' own images"}
# The ways' names behind "above", "behind" and similar words.
AGAINST = {"centralised": "pooled images", "alone": "each alone", "federated": "federated learning"}
NONE = "–"
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


def spread(scores: Spread | None) -> str:
    """Return a score's mean and standard deviation over the seeds: 93.1 ± 0.4 %."""
    if scores is None:
        return NONE
    deviation = scores.deviation
    return percent(scores.mean) if deviation is None else f"{100 * scores.mean:.1f} ± {100 * deviation:.1f} %"


def difference(pair: Paired | None) -> str:
    """Return a mean difference and its standard error: +31.4 ± 1.9 points."""
    return NONE if pair is None else _signed(pair.mean, pair.error, "points")


def relative(pair: Paired | None) -> str:
    """Return a mean relative difference and its standard error: +51 ± 4 %."""
    return NONE if pair is None or pair.share is None else _signed(pair.share, pair.share_error, "%")


def _signed(value: float, error: float | None, unit: str) -> str:
    return f"{100 * value:+.1f}{'' if error is None else f' ± {100 * error:.1f}'} {unit}"


CLOSE = 0.02  # of a score: two points, within which two ways count as close
HELD_OUT, OWN_DATA = ON
FEDERATED, POOLED, ALONE = WAYS


def verdict(seeds: Seeds, params: Mapping[str, Any], workload: str, finished: bool, failed: str = "") -> dict[str, str]:
    """Return verdict, why and next from the results so far. `failed` is the sentence of seeds that failed."""
    against = {other: seeds.compare(FEDERATED, other, HELD_OUT) for other in (POOLED, ALONE)}
    pooled, alone = against[POOLED], against[ALONE]
    if pooled is None or alone is None:
        return _nothing(finished, failed)
    over = f"over {words.count(len(seeds), 'seed')}" if len(seeds) > 1 else "with one seed"
    sentence = f"Federated learning {_stands(pooled, alone)} on {DATA[HELD_OUT]}, {over}."
    why = [_reached(seeds, HELD_OUT), _reached(seeds, OWN_DATA)]
    why += [_seeds(pooled, alone)] if len(seeds) > 1 else []
    why.append(failed)
    return {
        "verdict": sentence,
        "why": " ".join(filter(None, why)),
        "next": _next(seeds, params, workload, pooled, alone),
    }


def _nothing(finished: bool, failed: str) -> dict[str, str]:
    why = failed or "The rounds of a run that goes on are drawn below."
    if finished:
        return {"verdict": "No seed came to an end.", "why": why, "next": "Mend that, then run it again (--failed)."}
    following = "Guess meanwhile: how far will federated learning be from pooled images, and above each alone?"
    return {"verdict": "No seed has come to its end yet.", "why": why, "next": following}


def _stands(pooled: Paired, alone: Paired) -> str:
    """Compare federated learning with pooled images and each alone, where all seeds agree."""
    unlike = " and ".join(
        f"{points(abs(pair.mean))} {_side(pair)} {AGAINST[pair.other]}" for pair in (pooled, alone) if _clear(pair)
    )
    tied = " or from ".join(AGAINST[pair.other] for pair in (pooled, alone) if not _clear(pair))
    return " and ".join(([f"can't be told from {tied}"] if tied else []) + ([f"is {unlike}"] if unlike else []))


def _clear(pair: Paired) -> bool:
    """Return whether all seeds agree on who is better."""
    return len(pair.differences) == 1 or pair.agreed


def _side(pair: Paired) -> str:
    return "above" if pair.mean > 0 else "behind"


def _reached(seeds: Seeds, on: str) -> str:
    scores = "; ".join(f"{NAMES[way]} {spread(seeds.spread(way, on))}" for way in WAYS)
    what = "mean ± standard deviation" if len(seeds) > 1 else "one seed"
    return f"On {DATA[on]} ({what}): {scores}." if on == HELD_OUT else f"On {DATA[on]}: {scores}."


def _seeds(pooled: Paired, alone: Paired) -> str:
    """Return both mean differences with their standard errors, and how many seeds agree."""
    first, second = (
        f"{100 * abs(pair.mean):.1f} ± {100 * (pair.error or 0.0):.1f} points {_side(pair)} {AGAINST[pair.other]} with "
        f"{max(pair.better, pair.worse)} of {len(pair.differences)} seeds"
        for pair in (pooled, alone)
    )
    return f"Seed by seed (± the mean's standard error) it is {first}, and {second}."


def _next(seeds: Seeds, params: Mapping[str, Any], workload: str, pooled: Paired, alone: Paired) -> str:
    if len(seeds) < AGREED:
        return f"Give it more seeds (--seeds {AGREED}): so few can all agree by chance."
    if pooled.mean < -CLOSE and pooled.agreed:
        if params.get("algorithm") == "fedavg":
            return "Hold local models near the shared one (--algorithm fedprox), or give it more rounds, and compare."
        return f"Give it more rounds (--rounds {2 * int(params.get('rounds') or 1)}): does it come to pooled images?"
    if not alone.sure or alone.mean <= CLOSE:
        unlike = "label" if workload == "federated" else "shift"
        return f"Make institutions less alike (--partition {unlike}): when does it pay to learn together?"
    return "Attack it, protect it, or run the same with OpenFL: see the page Three ways to learn."


# The ways that are compared, first the one that is expected to be better.
PAIRS = (("federated", "centralised"), ("federated", "alone"), ("centralised", "alone"))


@dataclass(frozen=True)
class WaysReport(Report):
    """A study of three ways: the results of its seeds, and the run that goes on."""

    seeds: Seeds
    now: Seeded | None  # the run that goes on

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
        return {
            **self.study.description,
            "ways": {
                way: {on: (came.as_json() if (came := self.seeds.spread(way, on)) else None) for on in ON}
                for way in WAYS
            },
            "by_round": {
                way: {on: (asdict(band) if (band := self.seeds.by_round(way, on)) else None) for on in ON}
                for way in WAYS
            },
            "differences": [pair.as_json() for pair in self.pairs],
            "by_seed": [run.as_json() for run in self.seeds],
            "now": None if self.now is None else {"seed": self.now.seed, "run": self.now.run},
            "published": {**PUBLISHED_GAINS, "source": PUBLISHED},
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
    return WaysReport(study, trials, runs, conclusion, seeds, now)


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
_SIGNS = {"centralised": -1.0, "alone": 1.0}  # behind is below


def answer(report: WaysReport, other: str) -> Answer | None:
    """Return the difference from the other way on held-out data, in points; None before a seed has ended."""
    pair = report.seeds.compare("federated", other, ON[0])
    if pair is None:
        return None
    margin = max(2 * (pair.error or 0.0), LEAST)  # no guess can be expected to be closer than two standard errors
    return Answer(round(_SIGNS[other] * 100 * pair.mean, 1), margin=round(100 * margin, 1))
