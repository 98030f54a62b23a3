"""The verdict of three ways with several seeds. Pure.

A difference is called sure where all of enough seeds agree (`results.Paired.sure`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis.scores import percent, points
from workshop.study.grid.verdict import AGREED
from workshop.workloads.federated.study.results import ON, WAYS, Paired, Seeds, Spread

NAMES = {"federated": "federated", "centralised": "pooled", "alone": "alone"}
DATA = {"held_out": "held-out images", "own": "institutions' own images"}
# The ways' names behind "above", "behind" and similar words.
AGAINST = {"centralised": "pooled images", "alone": "each alone", "federated": "federated learning"}
NONE = "–"
# Published gain of a model trained on the data of all over models trained on one institution's data. The source is in
# `workshop.workloads.federated.report.verdict.PUBLISHED`.
PUBLISHED = {"held_out": 0.17, "own": 0.026}
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


def better(share: float) -> str:
    """Return a relative difference as a comparison: 17 % better."""
    return f"{abs(100 * share):.1f} % {'better' if share >= 0 else 'worse'}"


def agreement(pair: Paired) -> str:
    """Say how many seeds agree, and how often chance alone would do that."""
    number = len(pair.differences)
    if number < 2:
        return "one seed, which can't tell chance from more"
    if pair.agreed:
        times = 2 ** (number - 1)
        return f"with every one of {number} seeds, as chance alone would once in {times} times"
    most = max(pair.better, pair.worse)
    return f"with {most} of {number} seeds, as chance alone would {often(pair.chance)}"


def often(chance: float) -> str:
    """Say how often something happens by chance, from its probability."""
    if chance >= 0.75:
        return "nearly always"
    return f"once in {words.short(round(1 / chance, 1))} times"


CLOSE = 0.02  # of a score: two points, within which federated learning counts as close to pooled images
FEW = ("dirichlet", "label")  # partitions in which institutions have few kinds of image
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
    if (share := seeds.closed) is not None and alone.mean > 0:
        why.append(f"That is {words.percent(share)} of the way from each alone to pooled images.")
    why += [_own_images(seeds, params), failed]
    return {
        "verdict": sentence,
        "why": " ".join(filter(None, why)),
        "next": _next(seeds, params, workload, pooled, alone),
    }


def _nothing(finished: bool, failed: str) -> dict[str, str]:
    if finished:
        return {
            "verdict": "No seed came to an end.",
            "why": failed or "Its runs told nothing of the three ways.",
            "next": "Mend that, then run what failed once more (--failed).",
        }
    return {
        "verdict": "No seed has come to its end yet.",
        "why": failed or "What the run that goes on has learned so far is drawn by round.",
        "next": "Guess meanwhile: how far will federated learning be from pooled images, and above each alone?",
    }


def _stands(pooled: Paired, alone: Paired) -> str:
    """Compare federated learning with pooled images and each alone, where all seeds agree."""
    differences = [_difference(pair) for pair in (pooled, alone)]
    if not any(differences):
        return f"can't be told from {AGAINST[POOLED]} or from {AGAINST[ALONE]}"
    if not differences[0]:
        return f"can't be told from {AGAINST[POOLED]} and is {differences[1]}"
    close = f"comes close to {AGAINST[POOLED]} ({points(abs(pooled.mean))} {_side(pooled)})"
    first = close if abs(pooled.mean) <= CLOSE else f"is {differences[0]}"
    if not differences[1]:
        return f"{first}, but can't be told from {AGAINST[ALONE]}"
    return f"{first} and {'is ' if first is close else ''}{differences[1]}"


def _difference(pair: Paired) -> str:
    """Return a difference in words; empty where the seeds disagree."""
    if len(pair.differences) > 1 and not pair.agreed:
        return ""
    return f"{points(abs(pair.mean))} {_side(pair)} {AGAINST[pair.other]}"


def _side(pair: Paired) -> str:
    return "above" if pair.mean > 0 else "behind"


def _reached(seeds: Seeds, on: str) -> str:
    scores = "; ".join(f"{NAMES[way]} {spread(seeds.spread(way, on))}" for way in WAYS)
    what = "mean ± standard deviation" if len(seeds) > 1 else "one seed"
    return f"On {DATA[on]} ({what}): {scores}." if on == HELD_OUT else f"On {DATA[on]}: {scores}."


def _seeds(pooled: Paired, alone: Paired) -> str:
    """Return both mean differences with their standard errors, and how often chance does as much."""
    first, second = (
        f"{100 * abs(pair.mean):.1f} ± {100 * (pair.error or 0.0):.1f} points {_side(pair)} {AGAINST[pair.other]}"
        for pair in (pooled, alone)
    )
    start = "Seed by seed (± the mean's standard error) it is"
    if pooled.agreed and alone.agreed:
        return f"{start} {first} and {second}, both {agreement(alone)}."
    return f"{start} {first} {agreement(pooled)}, and {second} {agreement(alone)}."


def _own_images(seeds: Seeds, params: Mapping[str, Any]) -> str:
    """Say by how much alone is better on institutions' own images, and why; empty where it isn't."""
    alone = seeds.compare(FEDERATED, ALONE, OWN_DATA)
    if alone is None or alone.share is None or alone.mean >= 0 or not alone.agreed:
        return ""
    sentence = f"On their own images institutions are better off alone (federated learning is {better(alone.share)})"
    few = params.get("partition") in FEW
    return (
        f"{sentence}: the fewer kinds of image one has, the easier they are to tell apart." if few else f"{sentence}."
    )


def _next(seeds: Seeds, params: Mapping[str, Any], workload: str, pooled: Paired, alone: Paired) -> str:
    if len(seeds) < AGREED:
        return f"Give it more seeds (--seeds {AGREED}): so few can all agree by chance."
    if pooled.mean < -CLOSE and pooled.agreed:
        if params.get("algorithm") == "fedavg":
            return "Hold local models near the shared one (--algorithm fedprox), or give it more rounds, and compare."
        return f"Give it more rounds (--rounds {2 * int(params.get('rounds') or 1)}): does it come to pooled images?"
    digits = workload == "federated"
    if not alone.sure or alone.mean <= CLOSE:
        unlike = "label" if digits else "shift"
        return f"Make institutions less alike (--partition {unlike}): when does it pay to learn together?"
    if digits:
        return (
            "Attack it (one institution with wrong labels), protect it (masks, noise), or run the same with OpenFL: "
            "see the page Federated."
        )
    return "Look at the outlines in one of its runs: which lesions does each way miss?"


def summary(seeds: Seeds, on: str) -> str:
    """Return the relative gains of federated learning and pooled images over alone, as publications report them."""
    parts = []
    for way in (FEDERATED, POOLED):
        gain = seeds.compare(way, ALONE, on)
        if gain is not None and gain.share is not None:
            error = "" if gain.share_error is None else f" (± {100 * gain.share_error:.1f})"
            parts.append(f"{NAMES[way]} {better(gain.share)}{error}")
    if not parts:
        return ""
    base = seeds.spread(ALONE, on)
    against = f", in proportion to the {percent(base.mean)} of each alone" if base is not None else ""
    return f"On {DATA[on]}{against}: {words.listed(parts)}."
