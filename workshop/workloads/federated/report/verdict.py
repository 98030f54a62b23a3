"""The verdict of a federation: which way of learning won, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.scores import number, percent, points
from workshop.report.training.facts import GUESSING
from workshop.workloads.federated.report import findings as federation_findings
from workshop.workloads.federated.report.facts import FederationFacts, numbered

DRIFTING = 1.0  # relative drift from which on updates differ by more than they have in common
GROWN = 10  # a loss of this many times that of guessing has diverged
DICE = "Dice"  # the measure of segmentation

_NAMES = {"federated": "Federated learning", "centralised": "Pooled images", "alone": "Each institution alone"}
_SHORT = {"federated": "federated", "centralised": "pooled", "alone": "alone"}
_NEEDED = ("held_out_score", "own_score", "images_read")
_PARTITIONS = {
    "iid": "images dealt alike",
    "dirichlet": "digits in different shares",
    "label": "few digits each",
    "shift": "each with a scanner of its own",
}

Ways = Mapping[str, Mapping[str, Any]]


def measured(facts: Facts) -> Finding | None:
    """Return the finding of a federation; None for any other run, and before the end."""
    run, ways = FederationFacts(facts), _ways(facts)
    if not ways:
        return None
    attack = federation_findings.attacked(run)
    if spoiled := None if attack else _lost(run):
        return spoiled
    findings = [attack, federation_findings.protected(run), _reached(run, ways)]
    main, *others = [finding for finding in findings if finding is not None]
    why = [main.why, *(finding.verdict for finding in others)]
    return Finding(main.verdict, _joined(why), main.following)


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(filter(None, sentences))


def _reached(run: FederationFacts, ways: Ways) -> Finding:
    """Return the finding of the ways of learning."""
    if len(ways) > 1 and "federated" in ways:
        return _compared(run, ways)
    name, results = next(iter(ways.items()))
    dice = "a Dice coefficient of " if run.metrics.get("measure") == DICE else ""
    return Finding(
        f"{_NAMES[name]} came to {dice}{percent(results['held_out_score'])} on held-out images in {run.rounds}, and to "
        f"{percent(results['own_score'])} on institutions' own.",
        _joined([_setting(run, ways), *(_explained(run) if name == "federated" else ())]),
        "Look at all three ways side by side (--way all): how far is it from pooled images, and from each alone?",
    )


def _compared(run: FederationFacts, ways: Ways) -> Finding:
    """Return the finding of several ways: which one won by more than chance."""
    federated, (pooled, alone) = (
        ways["federated"]["held_out_score"],
        (ways[name]["held_out_score"] if name in ways else None for name in ("centralised", "alone")),
    )
    differences: dict[str, str] = {}
    if pooled is not None:
        differences["pooled images"] = _far(run, pooled, federated, "behind", "better than")
    if alone is not None:
        differences["each alone"] = _far(run, federated, alone, "better than", "worse than")
    reached, own_images = (
        "; ".join(f"{_SHORT[name]} {percent(results[score])}" for name, results in ways.items())
        for score in ("held_out_score", "own_score")
    )
    by_what = ", mean Dice coefficients" if run.metrics.get("measure") == DICE else ""
    tested = run.metrics.get("held_out_images")
    behind = pooled is not None and run.ahead(pooled, federated)
    explained = _explained(run) if behind or (alone is not None and federated <= alone) else ()
    why = [
        f"On {tested} held-out images{by_what}: {reached}. On institutions' own validation images: {own_images}.",
        _setting(run, ways),
        *explained,
    ]
    return Finding(f"Federated learning {_stands(differences)}.", _joined(why), _following(run, behind))


def _far(run: FederationFacts, score: float, other: float, more: str, less: str) -> str:
    """Return the difference of two scores in words; empty where it may be chance."""
    return "" if run.tied(score, other) else f"{points(abs(score - other))} {more if score > other else less}"


def _stands(differences: Mapping[str, str]) -> str:
    """Say how federated learning compares with the other ways, from their names and differences."""
    tied = " or ".join(other for other, far in differences.items() if not far)
    unlike = " and ".join(f"{far} {other}" for other, far in differences.items() if far)
    return " and ".join(([f"can't be told from {tied}"] if tied else []) + ([f"is {unlike}"] if unlike else []))


def _setting(run: FederationFacts, ways: Ways) -> str:
    count = words.count(len(run.institutions), "institution")
    read = words.quantity(next(iter(ways.values()))["images_read"])
    how = _PARTITIONS.get(str(run.params.get("partition")), "shared")
    return f"{count} ({how}), {run.rounds}, {read} images read{' in each way' if len(ways) > 1 else ''}."


def _explained(run: FederationFacts) -> list[str]:
    """Return the reason why averaging isn't as good as pooling, from what was measured; empty without one."""
    drift = run.metrics.get("drift")
    if not number(drift) or drift < DRIFTING:
        return []
    return [
        f"The institutions' updates differ from their mean by {drift:.2g} times its length: each goes towards its "
        f"own images, and averaging leaves {words.percent(1 / math.hypot(1, drift))} of their length."
    ]


def _following(run: FederationFacts, behind: bool) -> str:
    params, drift = run.params, run.metrics.get("drift")
    if behind and number(drift) and drift >= DRIFTING:
        if params.get("algorithm") == "fedprox":
            return (
                "Let institutions learn for a shorter time between averages (--epochs 1) with more rounds, and compare."
            )
        return "Hold local models near the shared one (--algorithm fedprox), or average more often (--epochs 1)."
    if run.metrics.get("measure") == DICE:
        return "Take away PET or CT (--modality ct, --modality pet): what does each add?"
    if params.get("partition") == "iid":
        return "Give each institution a few digits only (--partition label): who wins then, and who loses most alone?"
    return (
        "Make it harder: fewer digits each (--partition label), or some institutions in a round (--participation 0.5)."
    )


def _lost(run: FederationFacts) -> Finding | None:
    """Return the finding of updates that were not numbers, or of training that diverged."""
    dropped, loss, dice = run.metrics.get("dropped") or [], run.metrics.get("loss"), run.metrics.get("measure") == DICE
    if not dropped:
        if not isinstance(loss, int | float) or loss < (math.inf if dice else GROWN * GUESSING):
            return None
        became = f"grew to {words.quantity(loss)}" if math.isfinite(loss) else "became no number"
        guessing = "" if dice else f"; that of guessing is {GUESSING:.1f}"
        return Finding("The training diverged.", f"Its loss {became}{guessing}.", run.smaller_rate)
    senders = sorted({entry["institution"] for entry in dropped})
    names, several = numbered(senders), len(senders) > 1
    when = f"In {words.count(len({entry['round'] for entry in dropped}), 'round')} {'they' if several else 'it'}"
    if run.params.get("way") == "alone":
        what = "models that are" if several else "a model that is"
        return Finding(
            f"{names} trained {what} no number.", f"{when} went on with the model from before.", run.smaller_rate
        )
    return Finding(
        f"{names} sent updates that are no numbers.",
        f"{when} {'were' if several else 'was'} dropped: a single such update would make the shared model useless for "
        "everybody.",
        run.smaller_rate,
    )


def _ways(facts: Facts) -> Ways:
    by_way, institutions = facts.metrics.get("by_way"), facts.metrics.get("institutions")
    if not isinstance(by_way, Mapping) or not isinstance(institutions, Sequence):
        return {}
    if not all(isinstance(institution, Mapping) for institution in institutions):
        return {}
    return {
        name: way
        for name, way in by_way.items()
        if name in _NAMES and isinstance(way, Mapping) and all(number(way.get(key)) for key in _NEEDED)
    }
