"""Panels of a run that measures collectives and messages, also while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.words import capital, seconds
from workshop.extension import Panel
from workshop.report.cards import Card, figure, line, table, words
from workshop.report.snapshot import Snapshot
from workshop.workloads.allreduce.figures import bandwidth, latency
from workshop.workloads.allreduce.panels import measured_curves
from workshop.workloads.allreduce.verdict import message, rate
from workshop.workloads.collectives.verdict import STREAMS, by_size, rates

TIMES = "A line that is level shows latency. A line that rises with the size shows bandwidth."
RATES = "Bytes per second between two ranks, or the size of a collective by its time."


def collectives(snapshot: Snapshot) -> list[Card]:
    """Times and bandwidths by size, and a table of both ends with the algorithms that the MPI may have chosen."""
    curves = measured_curves(snapshot)
    if not curves:
        return []
    cards = []
    if times := [curve for curve in curves if curve.method not in STREAMS]:
        cards.append(Card("times", "Time of an operation", (words(line(TIMES, tone="about")), figure(latency(times)))))
    cards.append(Card("rates", "Bandwidth", (words(line(RATES, tone="about")), figure(bandwidth(rates(curves))))))
    chosen = snapshot.metric("algorithms", Mapping) or {}
    rows = [
        [
            curve.method,
            f"{message(curve.sizes[0])}: {seconds(curve.seconds[0])}",
            f"{message(curve.sizes[-1])}: {seconds(curve.seconds[-1])}",
            rate(curve.algorithm[-1]),
            message(curve.half),
            by_size(curve.sizes, chosen[curve.method]) if chosen.get(curve.method) else "",
        ]
        for curve in curves
    ]
    headings = ["Operation", "Smallest", "Largest", "Bandwidth", "Half of its best from", "Algorithm"]
    unknown = snapshot.metric("algorithms_unknown", str)
    notes = [words(line(f"{capital(unknown)}.", "Algorithms", "note"))] if unknown else []
    return [*cards, Card("operations", "By operation", (table(headings, rows), *notes))]


def _made_of(snapshot: Snapshot) -> Any:
    return snapshot.events, snapshot.run.status, snapshot.run.metrics


PANELS = (Panel("collectives", collectives, _made_of, comparison=collectives),)
