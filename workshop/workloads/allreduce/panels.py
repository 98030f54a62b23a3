"""Panels of a run that measures all-reduces, also while it goes on: seconds and bandwidth by message size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.words import seconds
from workshop.extension import Panel
from workshop.report.cards import Card, Part, figure, line, table, words
from workshop.report.snapshot import Snapshot
from workshop.workloads.allreduce.figures import bandwidth, latency
from workshop.workloads.allreduce.verdict import AllReduceCurve, message, rate

LATENCY, BANDWIDTH = "latency ", "bandwidth "  # begin the names of events, before that of the method
MESSAGE = "message"
LEVEL = "Level: latency counts. Rising with the message: bandwidth does."


def allreduce(snapshot: Snapshot) -> list[Card]:
    """Both figures, and a table of what each method takes at both ends."""
    curves = measured_curves(snapshot)
    if not curves:
        return []
    link, memory = snapshot.metric("link_bandwidth", int | float), snapshot.metric("memory_bandwidth", int | float)
    about = "What each rank has to send in a second, at least"
    beside = "sends to another host" if link else "copies in memory"
    about += f"; the dashed line is what it {beside}, measured by itself" if link or memory else ""
    about += "; messages that fit into a cache can be above it." if memory and not link else "."
    figures = (
        Card("latency", "Time of an all-reduce", (_about(LEVEL), figure(latency(curves))), half=True),
        Card("bandwidth", "Bus bandwidth", (_about(about), figure(bandwidth(curves, memory, link))), half=True),
    )
    return [*figures, Card("all-reduces", "By method", (_summary(curves), *_left_out(snapshot)))]


def _about(text: str) -> Part:
    return words(line(text, tone="about"))


def _summary(curves: Sequence[AllReduceCurve]) -> Part:
    sizes = max((curve.sizes for curve in curves), key=len)
    rows = [
        [
            curve.method,
            seconds(curve.seconds[0]),
            seconds(curve.seconds[-1]) if curve.sizes == sizes else "",
            rate(curve.bus[-1]) if curve.sizes == sizes else "",
            message(curve.half) if curve.sizes == sizes else "",
        ]
        for curve in curves
    ]
    return table(["Method", message(sizes[0]), message(sizes[-1]), "Bus bandwidth", "Half of its best from"], rows)


def _left_out(snapshot: Snapshot) -> list[Part]:
    left_out = snapshot.metric("left_out", Mapping)
    return [words(*(line(f"{name}: {why}.", "Left out", "note") for name, why in left_out.items()))] if left_out else []


def measured_curves(snapshot: Snapshot) -> list[AllReduceCurve]:
    """The measurements of rank 0 so far, a curve for each method, in the order of measurement."""
    if MESSAGE not in snapshot.totals:
        return []
    (messages, *_) = snapshot.series(MESSAGE)
    size_of = {number: round(size) for number, size in zip(messages.steps, messages.means, strict=True)}
    measured = [series for name in snapshot.totals if name.startswith(LATENCY) for series in snapshot.series(name)[:1]]
    return [
        AllReduceCurve(
            series.name.removeprefix(LATENCY),
            tuple(size_of[number] for number in series.steps),
            tuple(series.means),
            snapshot.ranks,
        )
        for series in sorted(measured, key=lambda series: series.times[0])
    ]


def _made_of(snapshot: Snapshot) -> Any:
    return snapshot.events, snapshot.run.status, snapshot.run.metrics


PANELS = (Panel("allreduce", allreduce, _made_of, comparison=allreduce),)
