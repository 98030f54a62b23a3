"""What verdicts read of a federation's run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from workshop.core import words
from workshop.report.analysis.findings import Facts
from workshop.report.analysis.scores import held_out, margin, number


class FederationFacts:
    """A run's params and metrics, and the scores of its ways on held-out images; None where a way told none. `plain` is
    without attack and defence, `undefended` with the attack alone, `whole` without compression."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.params, self.metrics = facts, facts.run.params, facts.metrics
        ways = ("federated", "centralised", "alone", "plain", "undefended", "whole")
        self.reached, self.pooled, self.alone, self.plain, self.undefended, self.whole = (
            held_out(facts, way) for way in ways
        )

    def margin(self, one: float, other: float) -> float:
        """How far two scores may lie apart by chance."""
        return margin(self.facts, one, other)

    def alike(self, one: float, other: float) -> bool:
        """Whether so many images can't tell two scores apart."""
        return abs(one - other) <= self.margin(one, other)

    def ahead(self, one: float, other: float) -> bool:
        """Whether one score is higher than the other by more than chance."""
        return one - other > self.margin(one, other)

    @cached_property
    def institutions(self) -> dict[int, Mapping[str, Any]]:
        """What is known of each, by its number from 1."""
        told = self.metrics.get("institutions")
        known = enumerate(told, 1) if isinstance(told, list) else ()
        return {one: about for one, about in known if isinstance(about, Mapping)}

    def each(self, name: str) -> dict[int, float]:
        """A figure of each institution that has one."""
        return {one: told[name] for one, told in self.institutions.items() if number(told.get(name))}

    @property
    def rounds(self) -> str:
        return words.count(self.metrics.get("rounds") or 0, "round")

    @property
    def smaller_rate(self) -> str:
        """Advice against training that diverges."""
        rate = self.params.get("rate")
        than = f" than {rate:.3g} (--rate {rate / 10:.2g})" if number(rate) else " (--rate)"
        return f"Take a smaller learning rate{than}."


def numbered(whose: list[int]) -> str:
    """Institutions at the beginning of a sentence: Institutions 1 and 3."""
    return words.capital(words.numbered("institution", whose))
