"""The facts of the verdict, which rules.yaml says in words, and the panels of a run's page."""

from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.cards import Card, figure, tiles
from workshop.report.figures import theme
from workshop.report.snapshot import Panel, Snapshot


def chance(darts: float) -> float:
    """By how much an estimate of so many darts is off on average (its standard error)."""
    return math.sqrt(math.pi * (4 - math.pi) / darts)


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The facts that rules.yaml uses beside those of every run: by how much chance makes the estimate wrong."""
    darts = facts.metrics.get("darts")
    return {"by_chance": chance(darts) if darts else None}


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


PANELS = (Panel("pi", estimate, lambda snapshot: snapshot.events, comparison=estimate, metrics=("estimate", "error")),)
