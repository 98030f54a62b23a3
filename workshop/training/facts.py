"""Facts of a training run, from the metrics that `workshop.engine.training` reports."""

from __future__ import annotations

from workshop.report.analysis.findings import Facts


def has_trained(facts: Facts) -> bool:
    """Whether the run trained a model on all ranks: its metrics name the exchange of gradients and count updates."""
    return isinstance(facts.metrics.get("exchange"), str) and isinstance(facts.metrics.get("updates"), int)


def is_independent(facts: Facts) -> bool:
    """Whether the ranks exchanged nothing, so that no rank waited."""
    return facts.metrics.get("exchange") == "none"
