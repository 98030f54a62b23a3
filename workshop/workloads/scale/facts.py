"""The facts of the verdict on a step: the parts that take its time."""

from __future__ import annotations

from typing import Any

from workshop.core import words
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts

PARTS = ("input", "compute", "stragglers", "exchange", "evaluation", "checkpoint")
LONG = 0.05  # share of a step from which a part is named


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The parts of a step, the longest first, and the words for those that are named; none before the end."""
    seconds = facts.metrics.get("seconds") or {}
    if not seconds.get("step"):
        return {}
    parts = [{"name": name, "share": seconds[name] / seconds["step"]} for name in PARTS]
    named = [f"{part['name']} {words.percent(part['share'])}" for part in parts if part["share"] >= LONG]
    return {"parts": sorted(parts, key=lambda part: -part["share"]), "named_parts": named}
