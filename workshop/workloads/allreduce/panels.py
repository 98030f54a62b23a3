"""Panels of a run that measures messages, also while it goes on: how long each takes by size, and how much each rank
moves in a second meanwhile; and of several such runs in one plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from workshop.core.words import capital, seconds
from workshop.report.cards import Card, Part, figure, line, paragraph, table
from workshop.report.figures import marks, theme
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.allreduce.curves import NAMES, STREAMS, AllReduceCurve, by_size, message, rate

NOTHING = "Nothing has been measured yet"
METHODS = ("own", "ring", "parameter-server", "horovod")  # each has its colour, whichever are there
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")  # one for each MPI or run
TICKS = {4**power: message(4**power) for power in range(1, 14, 2)}
SECONDS = {10.0**power: f"{10 ** (power % 3)} {('ns', 'µs', 'ms', 's')[power // 3 + 3]}" for power in range(-8, 3)}
RATES = {10.0**power: rate(10.0**power) for power in range(3, 12)}
HEIGHT = 420
LATENCY = "latency "  # begins the names of events, before that of the method or operation
MESSAGE = "message"
MOVED = "Bytes per second: of many messages on the way, of an operation's size, or what an all-reduce sends at least."
LEVEL = "Level: latency counts. Rising with the message: bandwidth does."


def latency(curves: Sequence[AllReduceCurve]) -> go.Figure:
    """Seconds over bytes, both logarithmic: level where latency counts, rising with the size where bandwidth does. A
    colour for each method, a dash for each MPI or run. Operations with many messages on the way are left out beside
    others."""
    if not curves:
        return theme.nothing_yet(NOTHING, HEIGHT)
    timed = [curve for curve in curves if curve.method not in STREAMS] or list(curves)
    return _by_size([_line(timed, number, curve.seconds, seconds) for number, curve in enumerate(timed)], SECONDS)


def bandwidth(curves: Sequence[AllReduceCurve], copied: float | None = None, sent: float | None = None) -> go.Figure:
    """Bus bandwidth by size, with a line for what each rank `sent` to another host in a second, or else `copied` in
    memory: both are measured by themselves, so that an all-reduce within caches may be above. Operations with many
    messages on the way come in place of others."""
    several = [curve for curve in curves if curve.ranks > 1]
    several = [curve for curve in several if curve.method in STREAMS] or several
    if not several:
        return theme.nothing_yet("One rank has nothing to exchange" if curves else NOTHING, HEIGHT)
    traces = [_line(several, number, curve.bus, rate) for number, curve in enumerate(several)]
    if beside := sent or copied:
        name = "sent to another host" if sent else "copied in memory"
        ends = [min(curve.sizes[0] for curve in several), max(curve.sizes[-1] for curve in several)]
        hover, look = f"{name}: {rate(beside)}<extra></extra>", {"width": 2, "dash": "longdash"}
        traces.append(marks.line(ends, [beside, beside], theme.MUTED, hover, line=look, name=name))
    return _by_size(traces, RATES)


def _line(
    curves: Sequence[AllReduceCurve], number: int, values: Sequence[float], say: Callable[[float], str]
) -> go.Scatter:
    curve = curves[number]
    sources = list(dict.fromkeys(each.source for each in curves))
    places = list(dict.fromkeys([*METHODS, *(each.method for each in curves)]))
    return marks.line(
        list(curve.sizes),
        list(values),
        theme.rank_colour(places.index(curve.method)),
        [f"{message(size)}: {say(value)}" for size, value in zip(curve.sizes, values, strict=True)],
        size=7,
        line={"dash": DASHES[sources.index(curve.source) % len(DASHES)]},
        name=" ".join(filter(None, [curve.source, curve.method])),
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _by_size(traces: list[go.Scatter], ticks: Mapping[float, str]) -> go.Figure:
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=True,
        xaxis={"title": {"text": "message"}, "type": "log", **_ticks(TICKS)},
        yaxis={"type": "log", **_ticks(ticks)},
    )


def _ticks(ticks: Mapping[float, str]) -> dict[str, object]:
    return {"tickvals": list(ticks), "ticktext": list(ticks.values())}


def allreduce(snapshot: Snapshot) -> list[Card]:
    """Both figures, and a table of what each method or operation takes at both ends."""
    curves = measured_curves(snapshot)
    if not curves:
        return []
    link, memory = snapshot.metric("link_bandwidth", int | float), snapshot.metric("memory_bandwidth", int | float)
    about = MOVED
    if any(curve.method in NAMES for curve in curves):
        about = "What each rank has to send in a second, at least"
        beside = "sends to another host" if link else "copies in memory"
        about += f"; the dashed line is what it {beside}, measured by itself" if link or memory else ""
        about += "; messages that fit into a cache can be above it." if memory and not link else "."
    return [*_figures(curves, about, memory, link), *table_card(snapshot)]


def table_card(snapshot: Snapshot) -> list[Card]:
    """The table alone, which stands beside the tables of other runs."""
    curves = measured_curves(snapshot)
    chosen, unknown = snapshot.metric("algorithms", Mapping) or {}, snapshot.metric("algorithms_unknown", str)
    notes = _left_out(snapshot)
    if unknown:
        notes.append(paragraph(line(f"{capital(unknown)}.", "Algorithms", "note")))
    return [Card("all-reduces", "By method", (_summary(curves, chosen), *notes))] if curves else []


def overlay(snapshots: Mapping[str, Snapshot]) -> list[Card]:
    """Both figures with the curves of all these runs, by their labels."""
    curves = [
        replace(curve, source=label) for label, snapshot in snapshots.items() for curve in measured_curves(snapshot)
    ]
    return _figures(curves, MOVED) if curves else []


def _figures(
    curves: Sequence[AllReduceCurve], about: str, copied: float | None = None, sent: float | None = None
) -> list[Card]:
    rates = figure(bandwidth(curves, copied, sent))
    return [
        Card("latency", "Time by message size", (_about(LEVEL), figure(latency(curves))), half=True),
        Card("bandwidth", "Bandwidth by message size", (_about(about), rates), half=True),
    ]


def _about(text: str) -> Part:
    return paragraph(line(text, tone="about"))


def _summary(curves: Sequence[AllReduceCurve], chosen: Mapping[str, Sequence[Sequence[str]]]) -> Part:
    sizes = max((curve.sizes for curve in curves), key=len)
    rows = [
        [
            curve.method,
            seconds(curve.seconds[0]),
            seconds(curve.seconds[-1]) if curve.sizes == sizes else "",
            rate(curve.bus[-1]) if curve.sizes == sizes else "",
            message(curve.half_bandwidth_size) if curve.sizes == sizes else "",
            *([by_size(curve.sizes, chosen.get(curve.method, ()))] if chosen else []),
        ]
        for curve in curves
    ]
    ends = [message(sizes[0]), message(sizes[-1])]
    algorithm = ["Algorithm"] if chosen else []
    return table(["Method", *ends, "Bandwidth", "Half of its best from", *algorithm], rows)


def _left_out(snapshot: Snapshot) -> list[Part]:
    left_out = snapshot.metric("left_out", Mapping)
    return (
        [paragraph(*(line(f"{name}: {why}.", "Left out", "note") for name, why in left_out.items()))]
        if left_out
        else []
    )


def measured_curves(snapshot: Snapshot) -> list[AllReduceCurve]:
    """The measurements of rank 0 so far, a curve for each method or operation, in the order of measurement."""
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


PANELS = (
    Panel(
        "allreduce",
        allreduce,
        lambda snapshot: (snapshot.events, snapshot.run.status, snapshot.run.metrics),
        comparison=table_card,
        overlay=overlay,
    ),
)
