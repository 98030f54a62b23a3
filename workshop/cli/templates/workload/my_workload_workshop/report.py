"""The verdict on a run in words, and the panels of its page."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from workshop.core import words
from workshop.extension import Panel, Verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.cards import Card, figure, tiles
from workshop.report.figures import theme
from workshop.report.snapshot import Snapshot


def chance(darts: float) -> float:
    """By how much an estimate of so many darts is off on average (its standard error)."""
    return math.sqrt(math.pi * (4 - math.pi) / darts)


def measured(facts: Facts) -> Finding | None:
    """The verdict; None where the run told no estimate."""
    estimate, darts = facts.metrics.get("estimate"), facts.metrics.get("darts")
    if not isinstance(estimate, float) or not isinstance(darts, int):
        return None
    error, by_chance = words.quantity(abs(estimate - math.pi)), words.quantity(chance(darts))
    why = f"{words.quantity(darts)} darts were thrown. The estimate is off by {error}, and chance alone makes about "
    why += f"{by_chance}."
    return Finding(f"Pi is about {estimate:.5f}.", why, "Throw four times as many darts: that halves what chance does.")


def estimate(snapshot: Snapshot) -> list[Card]:
    """How the estimate came closer to pi with every step, also while the run goes on."""
    if (curve := next(iter(snapshot.series("estimate")), None)) is None:
        return []
    plot = theme.figure([go.Scatter(x=curve.steps, y=curve.means)], height=300, xaxis={"title": {"text": "step"}})
    plot.add_hline(math.pi, line_dash="dash", annotation_text="pi")
    last = curve.means[-1]
    values = {"Estimate": f"{last:.5f}", "Off by": words.quantity(abs(last - math.pi))}
    parts = tiles([{"label": label, "value": value} for label, value in values.items()]), figure(plot)
    return [Card("pi", "Estimate of pi", parts)]


VERDICT = Verdict(measured, first=True)  # what kept the run from being faster comes behind it
PANELS = (Panel("pi", estimate, lambda snapshot: snapshot.events, comparison=estimate, metrics=("estimate", "error")),)
