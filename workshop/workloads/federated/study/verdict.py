"""What three ways say with several seeds: verdict, why and next. Pure.

A difference is called sure where all seeds say the same and are enough for that (`spread.Paired.sure`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis.scores import percent, points
from workshop.study.grid.seeds import AGREED
from workshop.workloads.federated.study.results import ON, WAYS, Paired, Seeds
from workshop.workloads.federated.study.sentences import AGAINST, DATA, NAMES, agreement, better, spread

CLOSE = 0.02  # of a score: two points, within which federated learning counts as close to pooled images
FEW = ("dirichlet", "label")  # partitions in which institutions have few kinds of image
HELD_OUT, OWN = ON
FEDERATED, POOLED, ALONE = WAYS


def verdict(
    found: Seeds, params: Mapping[str, Any], workload: str, finished: bool, why_not: str = ""
) -> dict[str, str]:
    """Verdict, why and next from what the seeds have come to so far. `why_not` is the sentence of a run that failed."""
    against = {other: found.apart(FEDERATED, other, HELD_OUT) for other in (POOLED, ALONE)}
    pooled, alone = against[POOLED], against[ALONE]
    if pooled is None or alone is None:
        return _nothing(finished, why_not)
    over = f"over {words.count(len(found), 'seed')}" if len(found) > 1 else "with one seed"
    said = f"Federated learning {_stands(pooled, alone)} on {DATA[HELD_OUT]}, {over}."
    why = [_reached(found, HELD_OUT), _reached(found, OWN)]
    why += [_seeds(pooled, alone)] if len(found) > 1 else []
    if (share := found.closed) is not None and alone.mean > 0:
        why.append(f"That is {words.percent(share)} of the way from each alone to pooled images.")
    why += [_own(found, params), why_not]
    return {
        "verdict": said,
        "why": " ".join(filter(None, why)),
        "next": _next(found, params, workload, pooled, alone),
    }


def _nothing(finished: bool, why_not: str) -> dict[str, str]:
    if finished:
        return {
            "verdict": "No seed came to an end.",
            "why": why_not or "Its runs told nothing of the three ways.",
            "next": "Mend that, then run what failed once more (--failed).",
        }
    return {
        "verdict": "No seed has come to its end yet.",
        "why": why_not or "What the run that goes on has learned so far is drawn by round.",
        "next": "Guess meanwhile: how far will federated learning be from pooled images, and above each alone?",
    }


def _stands(pooled: Paired, alone: Paired) -> str:
    """Against pooled images and each alone: by how much apart, as far as chance lets one tell."""
    apart = [_apart(one) for one in (pooled, alone)]
    if not any(apart):
        return f"can't be told from {AGAINST[POOLED]} or from {AGAINST[ALONE]}"
    if not apart[0]:
        return f"can't be told from {AGAINST[POOLED]} and is {apart[1]}"
    close = f"comes close to {AGAINST[POOLED]} ({points(abs(pooled.mean))} {_side(pooled)})"
    first = close if abs(pooled.mean) <= CLOSE else f"is {apart[0]}"
    if not apart[1]:
        return f"{first}, but can't be told from {AGAINST[ALONE]}"
    return f"{first} and {'is ' if first is close else ''}{apart[1]}"


def _apart(found: Paired) -> str:
    """By how much, where all seeds say the same; else nothing."""
    if len(found.differences) > 1 and not found.agreed:
        return ""
    return f"{points(abs(found.mean))} {_side(found)} {AGAINST[found.other]}"


def _side(found: Paired) -> str:
    return "above" if found.mean > 0 else "behind"


def _reached(found: Seeds, on: str) -> str:
    told = "; ".join(f"{NAMES[way]} {spread(found.spread(way, on))}" for way in WAYS)
    what = "mean ± standard deviation" if len(found) > 1 else "one seed"
    return f"On {DATA[on]} ({what}): {told}." if on == HELD_OUT else f"On {DATA[on]}: {told}."


def _seeds(pooled: Paired, alone: Paired) -> str:
    """Both differences seed by seed, with the means' standard errors, and how often chance does as much."""
    first, second = (
        f"{100 * abs(one.mean):.1f} ± {100 * (one.error or 0.0):.1f} points {_side(one)} {AGAINST[one.other]}"
        for one in (pooled, alone)
    )
    said = "Seed by seed (± the mean's standard error) it is"
    if pooled.agreed and alone.agreed:
        return f"{said} {first} and {second}, both {agreement(alone)}."
    return f"{said} {first} {agreement(pooled)}, and {second} {agreement(alone)}."


def _own(found: Seeds, params: Mapping[str, Any]) -> str:
    """Where alone is better at home, and why that is so where institutions have few kinds of image."""
    alone = found.apart(FEDERATED, ALONE, OWN)
    if alone is None or alone.share is None or alone.mean >= 0 or not alone.agreed:
        return ""
    said = f"On their own images institutions are better off alone (federated learning is {better(alone.share)})"
    few = params.get("partition") in FEW
    return f"{said}: the fewer kinds of image one has, the easier they are to tell apart." if few else f"{said}."


def _next(found: Seeds, params: Mapping[str, Any], workload: str, pooled: Paired, alone: Paired) -> str:
    if len(found) < AGREED:
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


def summary(found: Seeds, on: str) -> str:
    """What data-rich models gain over those of one's own, in proportion, as others' figures are given."""
    parts = []
    for way in (FEDERATED, POOLED):
        gain = found.apart(way, ALONE, on)
        if gain is not None and gain.share is not None:
            error = "" if gain.share_error is None else f" (± {100 * gain.share_error:.1f})"
            parts.append(f"{NAMES[way]} {better(gain.share)}{error}")
    if not parts:
        return ""
    base = found.spread(ALONE, on)
    against = f", in proportion to the {percent(base.mean)} of each alone" if base is not None else ""
    return f"On {DATA[on]}{against}: {words.listed(parts)}."
