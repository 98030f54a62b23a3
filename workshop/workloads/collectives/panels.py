"""Panels of a run that measures collectives and messages, also while it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from workshop.core.words import capital
from workshop.extension import Panel
from workshop.report.cards import Card, figure, line, table, words
from workshop.report.snapshot import Snapshot
from workshop.workloads.allreduce.panels import LEVEL, bandwidth, latency, measured_curves
from workshop.workloads.allreduce.verdict import AllReduceCurve
from workshop.workloads.collectives.verdict import HEADINGS, STREAMS, summary

RATES = "Bytes per second: of many messages between two ranks, or the size of a collective by its time."


def both_figures(curves: Sequence[AllReduceCurve]) -> tuple[go.Figure, go.Figure]:
    """Times of messages and collectives, and bandwidths: of messages on the way where they were measured, else of all.
    Both are by size and logarithmic, with a line for each operation."""
    sized = [curve for curve in curves if curve.sizes[-1]]
    streams = [curve for curve in sized if curve.method in STREAMS] or sized
    times = [curve for curve in sized if curve.method not in STREAMS] or sized
    # Between two ranks, the bus bandwidth is the size by the time.
    return latency(times), bandwidth([replace(curve, ranks=2) for curve in streams])


def collectives(snapshot: Snapshot) -> list[Card]:
    """Times and bandwidths by size, and a table of both ends with the algorithms that the MPI may have chosen."""
    curves = measured_curves(snapshot)
    if not curves:
        return []
    times, rates = both_figures(curves)
    chosen, unknown = snapshot.metric("algorithms", Mapping) or {}, snapshot.metric("algorithms_unknown", str)
    rows = [summary(curve, chosen.get(curve.method, ())) for curve in curves]
    notes = [words(line(f"{capital(unknown)}.", "Algorithms", "note"))] if unknown else []
    return [
        Card("times", "Time of an operation", (words(line(LEVEL, tone="about")), figure(times)), half=True),
        Card("rates", "Bandwidth", (words(line(RATES, tone="about")), figure(rates)), half=True),
        Card("operations", "By operation", (table(HEADINGS, rows), *notes)),
    ]


PANELS = (
    Panel(
        "collectives",
        collectives,
        lambda snapshot: (snapshot.events, snapshot.run.status, snapshot.run.metrics),
        comparison=collectives,
    ),
)
