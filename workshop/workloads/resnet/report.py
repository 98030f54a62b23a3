"""The facts of a benchmark's verdict, and its printed lines, beside the panels of any training run."""

from __future__ import annotations

from typing import Any

from workshop.extension import OUTPUT
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, number
from workshop.report.cards import Card, code, line
from workshop.report.cards import paragraph as sentences
from workshop.report.snapshot import Panel, Snapshot
from workshop.report.training import panels as training_panels
from workshop.study.scaling.efficiency import PUBLISHED
from workshop.workloads.resnet.rounds import CONFIDENCE

GAIN = next(published for published in PUBLISHED if published.what == "ResNet-50")
CITED = GAIN.sentence


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The rates with their deviations, the published gain, and the share of compute and input in the ranks' time; None
    for what the run doesn't tell."""
    rounds, phases = facts.metrics.get("rounds") or {}, facts.metrics.get("phases") or {}
    rates = {
        name: f"{rounds[name]:.1f} ± {rounds[f'{name}_deviation']:.1f}"
        for name in ("total", "per_rank")
        if number(rounds.get(name))
    }
    seconds = {name: sum(values) for name, values in phases.items()}
    total = sum(seconds.values())
    working = (seconds["compute"] + seconds["input"]) / total if total else None
    return rates | {"confidence": CONFIDENCE, "gain": GAIN.speed_up, "cited": CITED, "working": working}


def printed(snapshot: Snapshot) -> list[Card]:
    """The lines of the rounds, and the published rates."""
    if OUTPUT not in snapshot.artifacts:
        return []
    text = snapshot.read(OUTPUT).decode()
    return [Card("printed", "Rounds", (code(text), sentences(line(CITED, tone="about"))))]


PANELS = (
    Panel("printed", printed, lambda snapshot: snapshot.version(OUTPUT), comparison=printed),
    *training_panels.PANELS,
)
