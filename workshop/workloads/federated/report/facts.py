"""The facts of a federated run that its rules use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, number
from workshop.report.training.facts import GUESSING
from workshop.workloads.federated.params import BOOST, MOST_INSTITUTIONS, ROBUST

GROWN = 10  # a loss of this many times that of guessing has diverged
SHORT = {"federated": "federated", "centralised": "pooled", "alone": "alone"}  # ways of learning
NEEDED = ("held_out_score", "own_score", "images_read")


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """All of them; None for what the run doesn't tell. `reached` is the federation's score on held-out images, `plain`
    without attack and defence, `undefended` with the attack alone."""
    metrics, drift, epsilon = facts.metrics, facts.metrics.get("drift"), facts.metrics.get("epsilon")
    entries = metrics.get("institutions")
    institutions = {at: about for at, about in enumerate(entries, 1)} if isinstance(entries, list) else {}
    institutions = {at: about for at, about in institutions.items() if isinstance(about, Mapping)}
    attackers = metrics.get("attackers") if isinstance(metrics.get("attackers"), list) else []
    distances = {at: about["distance"] for at, about in institutions.items() if number(about.get("distance"))}
    dropped, loss = metrics.get("dropped") or [], metrics.get("loss")
    grown = math.inf if metrics.get("measure") == "Dice" else GROWN * GUESSING
    return {
        "short": SHORT,
        "institutions": institutions,
        "boost": BOOST,
        "robust_rules": ROBUST,
        "many": min(4 * len(institutions), MOST_INSTITUTIONS),
        "left_of_updates": 1 / math.hypot(1, drift) if number(drift) else None,
        "certainty": math.exp(min(epsilon, 700)) if number(epsilon) else None,
        "attackers": attackers,
        "nearest_poisoned": min((distances[at] for at in attackers or () if at in distances), default=None),
        "farthest_honest": max((far for at, far in distances.items() if at not in (attackers or ())), default=0.0),
        "senders": sorted({entry["institution"] for entry in dropped}),
        "dropped_rounds": len({entry["round"] for entry in dropped}),
        "diverged_loss": True if isinstance(loss, int | float) and not loss < grown else None,
        **_ways(facts),
        **_attack(facts),
    }


def _ways(facts: Facts) -> dict[str, Any]:
    """The ways of learning with their scores, and which of them federated learning is tied with, and unlike, by more
    than chance."""
    by_way, institutions = facts.metrics.get("by_way"), facts.metrics.get("institutions")
    if not isinstance(by_way, Mapping) or not isinstance(institutions, list):
        return {"ways": {}, "compared": False}
    ways = {
        name: way
        for name, way in by_way.items()
        if name in SHORT and isinstance(way, Mapping) and all(number(way.get(key)) for key in NEEDED)
    }
    scores = {name: way["held_out_score"] for name, way in ways.items()}
    reached, pooled, alone = (scores.get(name) for name in SHORT)
    tied, unlike = [], []
    for other, name, less in ((pooled, "pooled images", "behind"), (alone, "each alone", "worse than")):
        if other is None or reached is None:
            continue
        if abs(reached - other) <= margin(facts, reached, other):
            tied.append(name)
        else:
            how = "better than" if reached > other else less
            unlike.append({"points": abs(reached - other), "words": f"{how} {name}"})
    return {
        "ways": ways,
        "way": next(iter(ways), None),
        "compared": len(ways) > 1 and "federated" in ways,
        "tied": tied,
        "unlike": unlike,
        "behind": _ahead(facts, pooled, reached),
        "better_than_alone": alone is None or reached is None or reached > alone,
    }


def _attack(facts: Facts) -> dict[str, Any]:
    """What an attack cost, and whether the rule of the federation helped, by more than chance."""
    reached, plain, undefended = (held_out(facts, way) for way in ("federated", "plain", "undefended"))
    suffered = reached if undefended is None else undefended
    return {
        "reached": reached,
        "plain": plain,
        "undefended": undefended,
        "suffered": suffered,
        "plain_tied": not _ahead(facts, plain, reached) and not _ahead(facts, reached, plain),
        "behind_plain": _ahead(facts, plain, reached),
        "attack_hurt": _ahead(facts, plain, suffered),
        "rule_hurt": _ahead(facts, suffered, reached),
        "rule_helped": _ahead(facts, reached, suffered),
    }


def _ahead(facts: Facts, score: float | None, other: float | None) -> bool:
    """Whether a score is higher than the other by more than chance."""
    return score is not None and other is not None and score - other > margin(facts, score, other)


def margin(facts: Facts, first: float, second: float) -> float:
    """Twice the standard error of the difference of two scores on so many images. Each has sqrt(p (1 - p) / n), the
    largest that a mean of values from 0 to 1 can have, or the measured one. Both scores use the same images, so the
    margin is rather too large. Another seed's effect isn't in it."""
    tested = max(facts.metrics.get("held_out_images") or 1, 1)
    deviation = facts.metrics.get("held_out_deviation")  # of the scores of images, where it was measured
    if number(deviation):
        return 2 * deviation * math.sqrt(2 / tested)
    return 2 * math.sqrt((first * (1 - first) + second * (1 - second)) / tested)


def held_out(facts: Facts, way: str) -> float | None:
    """The score of a way of learning on held-out images; None where it isn't known."""
    ways = facts.metrics.get("by_way")
    metrics_of_way = ways.get(way) if isinstance(ways, Mapping) else None
    score = metrics_of_way.get("held_out_score") if isinstance(metrics_of_way, Mapping) else None
    return score if number(score) else None
