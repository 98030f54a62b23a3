"""What a federation came to: which way of learning won, and what explains the distance between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.extension import Verdict
from workshop.report.analysis.diverging import GUESSING
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import margin, number, percent, points
from workshop.workloads.federated import guard_findings, sending_findings

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
    ways = _ways(facts)
    if not ways:
        return None
    attack = guard_findings.attacked(facts)
    if spoiled := sending_findings.broken(facts) or (None if attack else _lost(facts)):
        return spoiled
    found = [attack, guard_findings.protected(facts), sending_findings.measured(facts), _reached(facts, ways)]
    main, *others = [one for one in found if one is not None]
    why = [main.why, guard_findings.remark(facts), *(one.verdict for one in others)]
    return Finding(main.verdict, " ".join(filter(None, why)), main.following)


def _reached(facts: Facts, ways: Ways) -> Finding:
    """What the ways of learning came to."""
    if len(ways) > 1 and "federated" in ways:
        return _compared(facts, ways)
    name, told = next(iter(ways.items()))
    reached = (
        f"{_NAMES[name]} came to {_what(facts)}{percent(told['held_out_score'])} on held-out images in "
        f"{_rounds(facts)}, and to {percent(told['own_score'])} on institutions' own."
    )
    why = [_setting(facts, ways)]
    if name == "federated":
        why += _explained(facts, told)
    others = "Look at all three ways side by side (--way all): how far is it from pooled images, and from each alone?"
    return Finding(reached, " ".join(filter(None, why)), others)


def _compared(facts: Facts, ways: Ways) -> Finding:
    """Which way won, as far as so many held-out images can tell."""
    federated = ways["federated"]["held_out_score"]
    pooled, alone = (ways[name]["held_out_score"] if name in ways else None for name in ("centralised", "alone"))
    apart: dict[str, str] = {}
    gap, gain = None, None
    if pooled is not None:
        gap, least = pooled - federated, margin(facts, pooled, federated)
        apart["pooled images"] = _far(gap, least, "behind", "better than")
    if alone is not None:
        gain, least = federated - alone, margin(facts, federated, alone)
        apart["each alone"] = _far(gain, least, "better than", "worse than")
    reached = "; ".join(f"{_SHORT[name]} {percent(told['held_out_score'])}" for name, told in ways.items())
    own = "; ".join(f"{_SHORT[name]} {percent(told['own_score'])}" for name, told in ways.items())
    tested = facts.metrics.get("held_out_images")
    why = [
        f"On {tested} held-out images{_by_what(facts)}: {reached}. On institutions' own validation images: {own}.",
        _setting(facts, ways),
    ]
    behind = gap is not None and pooled is not None and gap > margin(facts, pooled, federated)
    if behind or (gain is not None and gain <= 0):
        why += _explained(facts, ways["federated"])
    return Finding(
        f"Federated learning {_stands(apart)}.", " ".join(filter(None, why)), _following(facts, ways, behind)
    )


def _far(difference: float, least: float, more: str, less: str) -> str:
    """By how much; empty where so few images can't tell."""
    return "" if abs(difference) <= least else f"{points(abs(difference))} {more if difference > 0 else less}"


def _stands(apart: Mapping[str, str]) -> str:
    """How far it is from each of the others, by their names."""
    alike = " or ".join(other for other, far in apart.items() if not far)
    unlike = " and ".join(f"{far} {other}" for other, far in apart.items() if far)
    return " and ".join(([f"can't be told from {alike}"] if alike else []) + ([f"is {unlike}"] if unlike else []))


def _setting(facts: Facts, ways: Ways) -> str:
    params = facts.run.params
    institutions = facts.metrics.get("institutions") or []
    read = next(iter(ways.values())).get("images_read")
    each = " in each way" if len(ways) > 1 else ""
    return (
        f"{words.count(len(institutions), 'institution')} ({_PARTITIONS.get(params.get('partition'), 'shared')}), "
        f"{_rounds(facts)}, {words.thousands(read)} images read{each}."
    )


def _explained(facts: Facts, told: Mapping[str, Any]) -> list[str]:
    """What keeps averaging from being as good as pooling, with what was measured."""
    params, found = facts.run.params, []
    drift, share = facts.metrics.get("drift"), params.get("participation")
    institutions = facts.metrics.get("institutions") or []
    if _rising(told):
        found.append("It was still getting better when the rounds were over.")
    if number(drift) and drift >= DRIFTING:
        found.append(
            f"The institutions' updates differ from their mean by {drift:.2g} times its length: each goes towards its "
            f"own images, and averaging leaves {words.percent(1 / math.hypot(1, drift))} of their length."
        )
    if number(share) and share < 1 and len(institutions) > 1:
        part = facts.metrics.get("participants")
        found.append(
            f"Only {part:.3g} of {len(institutions)} institutions learned in a round, so that the shared model follows "
            "now these, now those."
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
    if not total:
        return 0.0
    whole = [sum(column) / total for column in zip(*labels, strict=True)]
    apart = 0.0
    for row in labels:
        count = sum(row)
        if count:
            distance = sum(abs(value / count - share) for value, share in zip(row, whole, strict=True)) / 2
            apart += distance * count / total
    return apart


def _rising(told: Mapping[str, Any]) -> bool:
    """Whether the last third of the rounds was better on average than the one before, by more than `RISING`."""
    values = [value for value in told.get("held_out") or [] if number(value)]
    third = len(values) // 3
    if third < 1:
        return False
    last, before = values[-third:], values[-2 * third : -third]
    return sum(last) / third - sum(before) / third > RISING


def _following(facts: Facts, ways: Ways, behind: bool) -> str:
    params, rounds = facts.run.params, facts.metrics.get("rounds") or 1
    if behind and _rising(ways["federated"]):
        return f"Give it more rounds (--rounds {2 * rounds}): does it come to pooled images?"
    if behind and (params.get("participation") or 1) < 1:
        return "Let everybody learn in each round (--participation 1), and compare."
    drift = facts.metrics.get("drift")
    if behind and number(drift) and drift >= DRIFTING:
        if params.get("algorithm") == "fedprox":
            return (
                "Let institutions learn for a shorter time between averages (--epochs 1) with more rounds, and compare."
            )
        return "Hold local models near the shared one (--algorithm fedprox), or average more often (--epochs 1)."
    if facts.metrics.get("measure") == DICE:
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


def _lost(facts: Facts) -> Finding | None:
    """Updates that were no numbers: those of whom, and what was done about them."""
    dropped = facts.metrics.get("dropped") or []
    loss = facts.metrics.get("loss")
    most = math.inf if facts.metrics.get("measure") == DICE else GROWN * GUESSING
    far = isinstance(loss, int | float) and not loss < most  # also where it is no number
    if not dropped and not far:
        return None
    rate = facts.run.params.get("rate")
    smaller = "Take a smaller learning rate"
    smaller += f" than {rate:.3g} (--rate {rate / 10:.2g})." if number(rate) else " (--rate)."
    if not dropped:
        became = f"grew to {words.short(loss)}" if math.isfinite(loss) else "became no number"
        guessing = "" if facts.metrics.get("measure") == DICE else f"; that of guessing is {GUESSING:.1f}"
        return Finding("The training diverged.", f"Its loss {became}{guessing}.", smaller)
    whose = sorted({one["institution"] for one in dropped})
    rounds = len({one["round"] for one in dropped})
    names, several = words.capital(words.numbered("institution", whose)), len(whose) > 1
    when = f"In {words.count(rounds, 'round')}"
    if facts.run.params.get("way") == "alone":
        kept = f"{when} {'they' if several else 'it'} went on with the model from before."
        return Finding(
            f"{names} trained {'models' if several else 'a model'} that {'are' if several else 'is'} no number.",
            kept,
            smaller,
        )
    return Finding(
        f"{names} sent updates that are no numbers.",
        f"{when} {'they were' if several else 'it was'} dropped, and the others averaged: a single such update would "
        "make the shared model useless for everybody.",
        smaller,
    )


def _ways(facts: Facts) -> Ways:
    told = facts.metrics.get("by_way")
    institutions = facts.metrics.get("institutions")
    if not isinstance(told, Mapping) or not isinstance(institutions, Sequence):
        return {}
    if not all(isinstance(one, Mapping) for one in institutions):
        return {}
    return {
        name: way
        for name, way in told.items()
        if name in _NAMES and isinstance(way, Mapping) and all(number(way.get(key)) for key in _NEEDED)
    }


def _rounds(facts: Facts) -> str:
    return words.count(facts.metrics.get("rounds") or 0, "round")


def _what(facts: Facts) -> str:
    """What percentages are of, where that isn't what everybody takes them for: accuracy."""
    return "a Dice coefficient of " if facts.metrics.get("measure") == DICE else ""


def _by_what(facts: Facts) -> str:
    return ", mean Dice coefficients" if facts.metrics.get("measure") == DICE else ""


VERDICT = Verdict(measured, first=True)
