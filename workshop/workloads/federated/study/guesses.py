"""What people are asked to predict of three ways side by side, and what came out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workshop.report.cards import Card
from workshop.store.store import Store
from workshop.study.guided.guesses import Answer, NumberGuess, about
from workshop.workloads.federated.study.kind import WaysReport
from workshop.workloads.federated.study.results import ON, Paired

LEAST = 0.02  # of a score: a guess within two points was right, however small what came out
# By what federated learning is compared with: its question.
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
    """By how many points the two are apart on held-out data; None before any seed has come to its end."""
    apart = report.found.apart("federated", other, ON[0])
    if apart is None:
        return None
    return Answer(round(_SIGNS[other] * 100 * apart.mean, 1), margin=round(100 * _margin(apart), 1))


def _margin(apart: Paired) -> float:
    """Twice the standard error, since nobody can know better than that."""
    return max(2 * (apart.error or 0.0), LEAST)


def visible(store: Store, identity: int, report: WaysReport, shown: Sequence[Card]) -> list[Card]:
    """All cards for somebody who has guessed, or looked; none before."""
    return list(shown) if any(store.guess(identity, about(report.study.id, other)) for other in ASKS) else []
