"""What a federation came to: which way of learning won, and what explains the distance between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.extension import Verdict
from workshop.report.analysis.divergence import GUESSING
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number, percent, points
from workshop.workloads.federated.report import protection_findings, transmission_findings
from workshop.workloads.federated.report.facts import FederationFacts, numbered

# How much better a U-Net that segments brain tumours is for each of ten institutions when it was trained on the data of
# all. Other data and another measure than digits and accuracy: to be cited, not to be compared.
PUBLISHED = (
    "Sheller et al. (2020, Scientific Reports 10:12598) report that a network which segments brain tumours, trained on "
    "the data of all institutions, is about 17 % better on held-out data than trained on one institution's alone, and "
    "about 2.6 % better on that institution's own validation data."
)
DRIFTING = 1.0  # relative drift from which updates differ by more than they have in common
LOPSIDED = 4.0  # times as many images as the fewest
SKEWED = 0.3  # share of images that would have to change hands for all to have the digits in equal shares
GROWN = 10  # times the loss of guessing, from which it won't come back
REASONS = 3  # that are told of at most
DICE = "Dice"  # what is measured where masks are compared, in place of digits
RISING = 0.02  # gain of the held-out score from one third of the rounds to the next from which it still learns

_NAMES = {"federated": "Federated learning", "centralised": "Pooled images", "alone": "Each institution alone"}
_SHORT = {"federated": "federated", "centralised": "pooled", "alone": "alone"}
_NEEDED = ("held_out_score", "own_score", "images_read")
_PARTITIONS = {
    "iid": "images dealt alike",
    "dirichlet": "digits in different shares",
    "label": "few digits each",
    "shift": "each with a scanner of its own",
    "unequal": "many images to some, few to others",
}

Ways = Mapping[str, Mapping[str, Any]]


def measured(facts: Facts) -> Finding | None:
    """What a federation came to; None for any other run, and for one that has not ended."""
    run, ways = FederationFacts(facts), _ways(facts)
    if not ways:
        return None
    attack = protection_findings.attacked(run)
    if spoiled := transmission_findings.broken(run) or (None if attack else _lost(run)):
        return spoiled
    found = [attack, protection_findings.protected(run), transmission_findings.measured(run), _reached(run, ways)]
    main, *others = [one for one in found if one is not None]
    why = [main.why, protection_findings.remark(run), *(one.verdict for one in others)]
    return Finding(main.verdict, _joined(why), main.following)


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(filter(None, sentences))


def _reached(run: FederationFacts, ways: Ways) -> Finding:
    """What the ways of learning came to."""
    if len(ways) > 1 and "federated" in ways:
        return _compared(run, ways)
    name, told = next(iter(ways.items()))
    dice = "a Dice coefficient of " if run.metrics.get("measure") == DICE else ""
    return Finding(
        f"{_NAMES[name]} came to {dice}{percent(told['held_out_score'])} on held-out images in {run.rounds}, and to "
        f"{percent(told['own_score'])} on institutions' own.",
        _joined([_setting(run, ways), *(_explained(run, told) if name == "federated" else ())]),
        "Look at all three ways side by side (--way all): how far is it from pooled images, and from each alone?",
    )


def _compared(run: FederationFacts, ways: Ways) -> Finding:
    """Which way won, as far as so many held-out images can tell."""
    federated, (pooled, alone) = (
        ways["federated"]["held_out_score"],
        (ways[name]["held_out_score"] if name in ways else None for name in ("centralised", "alone")),
    )
    apart: dict[str, str] = {}
    if pooled is not None:
        apart["pooled images"] = _far(run, pooled, federated, "behind", "better than")
    if alone is not None:
        apart["each alone"] = _far(run, federated, alone, "better than", "worse than")
    reached, own = (
        "; ".join(f"{_SHORT[name]} {percent(told[score])}" for name, told in ways.items())
        for score in ("held_out_score", "own_score")
    )
    by_what = ", mean Dice coefficients" if run.metrics.get("measure") == DICE else ""
    tested = run.metrics.get("held_out_images")
    behind = pooled is not None and run.ahead(pooled, federated)
    explained = _explained(run, ways["federated"]) if behind or (alone is not None and federated <= alone) else ()
    why = [
        f"On {tested} held-out images{by_what}: {reached}. On institutions' own validation images: {own}.",
        _setting(run, ways),
        *explained,
    ]
    return Finding(f"Federated learning {_stands(apart)}.", _joined(why), _following(run, ways, behind))


def _far(run: FederationFacts, one: float, other: float, more: str, less: str) -> str:
    """By how much; empty where so few images can't tell."""
    return "" if run.alike(one, other) else f"{points(abs(one - other))} {more if one > other else less}"


def _stands(apart: Mapping[str, str]) -> str:
    """How far it is from each of the others, by their names."""
    alike = " or ".join(other for other, far in apart.items() if not far)
    unlike = " and ".join(f"{far} {other}" for other, far in apart.items() if far)
    return " and ".join(([f"can't be told from {alike}"] if alike else []) + ([f"is {unlike}"] if unlike else []))


def _setting(run: FederationFacts, ways: Ways) -> str:
    many = words.count(len(run.institutions), "institution")
    read = words.thousands(next(iter(ways.values()))["images_read"])
    how = _PARTITIONS.get(run.params.get("partition"), "shared")
    return f"{many} ({how}), {run.rounds}, {read} images read{' in each way' if len(ways) > 1 else ''}."


def _explained(run: FederationFacts, told: Mapping[str, Any]) -> list[str]:
    """What keeps averaging from being as good as pooling, with what was measured."""
    drift, share, found = run.metrics.get("drift"), run.params.get("participation"), []
    institutions = list(run.institutions.values())
    if _rising(told):
        found.append("It was still getting better when the rounds were over.")
    if number(drift) and drift >= DRIFTING:
        found.append(
            f"The institutions' updates differ from their mean by {drift:.2g} times its length: each goes towards its "
            f"own images, and averaging leaves {words.percent(1 / math.hypot(1, drift))} of their length."
        )
    if number(share) and share < 1 and len(institutions) > 1:
        found.append(
            f"Only {run.metrics.get('participants'):.3g} of {len(institutions)} institutions learned in a round, so "
            "that the shared model follows now these, now those."
        )
    sizes = [one["images"] for one in institutions]
    if sizes and max(sizes) >= LOPSIDED * min(sizes):
        found.append(
            f"The largest institution has {max(sizes) / min(sizes):.2g} times the images of the smallest "
            f"({words.thousands(max(sizes))} and {words.thousands(min(sizes))}), and as much more weight."
        )
    skew = skewed([one["labels"] for one in institutions if "labels" in one])
    if skew >= SKEWED:
        found.append(f"{words.percent(skew)} of the images would have to change hands for all to have the same digits.")
    return found[:REASONS]


def skewed(labels: Sequence[Sequence[int]]) -> float:
    """How far institutions' shares of the digits are from everybody's: the part of all images that would have to be of
    another digit, half the weighted mean of the absolute differences (total variation). 0: the same shares."""
    total = sum(map(sum, labels))
    whole = [sum(column) / max(total, 1) for column in zip(*labels, strict=True)]
    return sum(
        abs(value - share * sum(row)) / 2 / total
        for row in labels
        for value, share in zip(row, whole, strict=True)
        if total
    )


def _rising(told: Mapping[str, Any]) -> bool:
    """Whether the last third of the rounds was better on average than the one before, by more than `RISING`."""
    values = [value for value in told.get("held_out") or [] if number(value)]
    third = len(values) // 3
    return third > 0 and (sum(values[-third:]) - sum(values[-2 * third : -third])) / third > RISING


def _following(run: FederationFacts, ways: Ways, behind: bool) -> str:
    params, rounds, drift = run.params, run.metrics.get("rounds") or 1, run.metrics.get("drift")
    if behind and _rising(ways["federated"]):
        return f"Give it more rounds (--rounds {2 * rounds}): does it come to pooled images?"
    if behind and (params.get("participation") or 1) < 1:
        return "Let everybody learn in each round (--participation 1), and compare."
    if behind and number(drift) and drift >= DRIFTING:
        if params.get("algorithm") == "fedprox":
            return (
                "Let institutions learn for a shorter time between averages (--epochs 1) with more rounds, and compare."
            )
        return "Hold local models near the shared one (--algorithm fedprox), or average more often (--epochs 1)."
    if run.metrics.get("measure") == DICE:
        if params.get("partition") != "shift":
            return "Give each institution scanners of its own (--partition shift): who wins then?"
        return (
            "Take away PET or CT (--modality ct, --modality pet): what does each add, and what do outlines look like?"
        )
    if params.get("partition") == "iid":
        return "Give each institution a few digits only (--partition label): who wins then, and who loses most alone?"
    return (
        "Make it harder: fewer digits each (--partition label), or some institutions in a round (--participation 0.5)."
    )


def _lost(run: FederationFacts) -> Finding | None:
    """Updates that were no numbers: those of whom, and what was done about them."""
    dropped, loss, dice = run.metrics.get("dropped") or [], run.metrics.get("loss"), run.metrics.get("measure") == DICE
    if not dropped:
        if not isinstance(loss, int | float) or loss < (math.inf if dice else GROWN * GUESSING):
            return None
        became = f"grew to {words.short(loss)}" if math.isfinite(loss) else "became no number"
        guessing = "" if dice else f"; that of guessing is {GUESSING:.1f}"
        return Finding("The training diverged.", f"Its loss {became}{guessing}.", run.smaller_rate)
    whose = sorted({one["institution"] for one in dropped})
    names, several = numbered(whose), len(whose) > 1
    when = f"In {words.count(len({one['round'] for one in dropped}), 'round')} {'they' if several else 'it'}"
    if run.params.get("way") == "alone":
        what = "models that are" if several else "a model that is"
        return Finding(
            f"{names} trained {what} no number.", f"{when} went on with the model from before.", run.smaller_rate
        )
    return Finding(
        f"{names} sent updates that are no numbers.",
        f"{when} {'were' if several else 'was'} dropped, and the others averaged: a single such update would make the "
        "shared model useless for everybody.",
        run.smaller_rate,
    )


def _ways(facts: Facts) -> Ways:
    told, institutions = facts.metrics.get("by_way"), facts.metrics.get("institutions")
    if not isinstance(told, Mapping) or not isinstance(institutions, Sequence):
        return {}
    if not all(isinstance(one, Mapping) for one in institutions):
        return {}
    return {
        name: way
        for name, way in told.items()
        if name in _NAMES and isinstance(way, Mapping) and all(number(way.get(key)) for key in _NEEDED)
    }


VERDICT = Verdict(measured, first=True)
