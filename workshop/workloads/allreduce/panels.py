"""Panels of a run that measures all-reduces, also while it goes on: how long each takes by message size, and how much
each rank moves in a second meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from workshop.core.words import seconds
from workshop.extension import Panel
from workshop.report.cards import Card, Part, figure, line, table, words
from workshop.report.figures import marks, theme
from workshop.report.snapshot import Snapshot
from workshop.workloads.allreduce.verdict import AllReduceCurve, message, rate

NOTHING = "No all-reduce has been measured yet"
METHODS = ("own", "ring", "parameter-server", "horovod")  # each has its colour, whichever are there
DASHES = ("solid", "dash", "dot", "dashdot")  # one for each MPI
TICKS = {4**power: message(4**power) for power in range(1, 14, 2)}
SECONDS = {10.0**power: f"{10 ** (power % 3)} {('ns', 'µs', 'ms', 's')[power // 3 + 3]}" for power in range(-8, 3)}
RATES = {10.0**power: rate(10.0**power) for power in range(3, 12)}
HEIGHT = 420
LATENCY, BANDWIDTH = "latency ", "bandwidth "  # begin the names of events, before that of the method
MESSAGE = "message"
LEVEL = "Level: latency counts. Rising with the message: bandwidth does."


def latency(curves: Sequence[AllReduceCurve]) -> go.Figure:
    """Seconds over bytes, both logarithmic: level where latency counts, rising with the size where bandwidth does. A
    colour for each method, a dash for each MPI."""
    if not curves:
        return theme.nothing_yet(NOTHING, HEIGHT)
    traces = [_line(curves, number, curve.seconds, seconds) for number, curve in enumerate(curves)]
    return _by_size(traces, SECONDS)


def bandwidth(curves: Sequence[AllReduceCurve], copied: float | None = None, sent: float | None = None) -> go.Figure:
    """Bus bandwidth by size, with a line for what each rank `sent` to another host in a second, or else `copied` in
    memory: both are measured by themselves, so that an all-reduce within caches may be above."""
    several = [curve for curve in curves if curve.ranks > 1]
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
    mpis = list(dict.fromkeys(each.mpi for each in curves))
    places = list(dict.fromkeys([*METHODS, *(each.method for each in curves)]))
    return marks.line(
        list(curve.sizes),
        list(values),
        theme.rank_colour(places.index(curve.method)),
        [f"{message(size)}: {say(value)}" for size, value in zip(curve.sizes, values, strict=True)],
        size=7,
        line={"dash": DASHES[mpis.index(curve.mpi) % len(DASHES)]},
        name=" ".join(filter(None, [curve.mpi, curve.method])),
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _by_size(traces: list[go.Scatter], ticks: Mapping[float, str]) -> go.Figure:
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=True,
        xaxis={"title": {"text": "message"}, "type": "log", **_ticks(TICKS)},
        yaxis={"type": "log", **_ticks(ticks)},
        margin={"t": 48 if len(traces) < 6 else 96},
    )


def _ticks(ticks: Mapping[float, str]) -> dict[str, object]:
    return {"tickvals": list(ticks), "ticktext": list(ticks.values())}


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
            message(curve.half_bandwidth_size) if curve.sizes == sizes else "",
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


PANELS = (
    Panel(
        "allreduce",
        allreduce,
        lambda snapshot: (snapshot.events, snapshot.run.status, snapshot.run.metrics),
        comparison=allreduce,
    ),
)
