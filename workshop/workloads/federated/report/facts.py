"""The facts of a federated run that verdicts use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from workshop.core import words
from workshop.core.words import quantity
from workshop.report.analysis.findings import Facts
from workshop.report.analysis.scores import number


class FederationFacts:
    """A run's params and metrics, and each way's score on held-out images, None where it has none: `reached` is the
    federation's, `plain` is without attack and defence, `undefended` with the attack alone."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.params, self.metrics = facts, facts.run.params, facts.metrics
        ways = ("federated", "plain", "undefended")
        self.reached, self.plain, self.undefended = (held_out(facts, way) for way in ways)

    def margin(self, score: float, other: float) -> float:
        """Return how much two scores may differ by chance."""
        return margin(self.facts, score, other)

    def tied(self, score: float, other: float) -> bool:
        """Return whether two scores differ by no more than chance, for this number of images."""
        return abs(score - other) <= self.margin(score, other)

    def ahead(self, score: float, other: float) -> bool:
        """Return whether a score is higher than the other by more than chance."""
        return score - other > self.margin(score, other)

    @cached_property
    def institutions(self) -> dict[int, Mapping[str, Any]]:
        """The metrics of each institution, by its number from 1."""
        entries = self.metrics.get("institutions")
        pairs = enumerate(entries, 1) if isinstance(entries, list) else ()
        return {institution: about for institution, about in pairs if isinstance(about, Mapping)}

    def each(self, name: str) -> dict[int, float]:
        """Return a figure of each institution that has one."""
        return {institution: about[name] for institution, about in self.institutions.items() if number(about.get(name))}

    @property
    def rounds(self) -> str:
        return words.count(self.metrics.get("rounds") or 0, "round")

    @property
    def smaller_rate(self) -> str:
        """Advice against training that diverges."""
        rate, mu = self.params.get("rate"), self.params.get("mu")
        if self.params.get("algorithm") == "fedprox" and number(rate) and number(mu) and mu * rate > 1:
            return f"Take a smaller mu than {mu:g} (--mu {0.1 / rate:.2g}): its steps go past the shared model."
        than = f" than {quantity(rate)} (--rate {rate / 10:.2g})" if number(rate) else " (--rate)"
        return f"Take a smaller learning rate{than}."


def numbered(institutions: list[int]) -> str:
    """Return institutions as the beginning of a sentence: Institutions 1 and 3."""
    return words.capital(words.numbered("institution", institutions))


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
