"""All-reduces by message size: how long each takes, and how much each rank moves in a second meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from workshop.core.words import seconds
from workshop.report.figures import marks, theme
from workshop.workloads.allreduce.verdict import AllReduceCurve, message, rate

NOTHING = "No all-reduce has been measured yet"
METHODS = ("own", "ring", "parameter-server", "horovod")  # each has its colour, whichever are there
DASHES = ("solid", "dash", "dot", "dashdot")  # one for each MPI
TICKS = {4**power: message(4**power) for power in range(1, 14, 2)}
SECONDS = {10.0**power: f"{10 ** (power % 3)} {('ns', 'µs', 'ms', 's')[power // 3 + 3]}" for power in range(-8, 3)}
RATES = {10.0**power: rate(10.0**power) for power in range(3, 12)}
HEIGHT = 420


def latency(curves: Sequence[AllReduceCurve], height: int = HEIGHT) -> go.Figure:
    """Seconds over bytes, both logarithmic: level where latency counts, rising with the size where bandwidth does. A
    colour for each method, a dash for each MPI."""
    if not curves:
        return theme.nothing_yet(NOTHING, height)
    traces = [_line(curves, number, curve.seconds, seconds) for number, curve in enumerate(curves)]
    return _by_size(traces, SECONDS, height)


def bandwidth(
    curves: Sequence[AllReduceCurve], copied: float | None = None, sent: float | None = None, height: int = HEIGHT
) -> go.Figure:
    """Bus bandwidth by size, with a line for what each rank `sent` to another host in a second, or else `copied` in
    memory: both are measured by themselves, so that an all-reduce within caches may be above."""
    several = [curve for curve in curves if curve.ranks > 1]
    if not several:
        return theme.nothing_yet("One rank has nothing to exchange" if curves else NOTHING, height)
    traces = [_line(several, number, curve.bus, rate) for number, curve in enumerate(several)]
    if beside := sent or copied:
        name = "sent to another host" if sent else "copied in memory"
        ends = [min(curve.sizes[0] for curve in several), max(curve.sizes[-1] for curve in several)]
        hover, look = f"{name}: {rate(beside)}<extra></extra>", {"width": 2, "dash": "longdash"}
        traces.append(marks.line(ends, [beside, beside], theme.MUTED, hover, line=look, name=name))
    return _by_size(traces, RATES, height)


def page(curves: Sequence[AllReduceCurve], copied: float | None = None) -> str:
    """Both figures as one web page that needs nothing else."""
    first = latency(curves).to_html(full_html=False, include_plotlyjs=True)
    second = bandwidth(curves, copied).to_html(full_html=False, include_plotlyjs=False)
    return f'<!doctype html><meta charset="utf-8"><title>All-reduce by message size</title>{first}{second}'


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


def _by_size(traces: list[go.Scatter], ticks: Mapping[float, str], height: int) -> go.Figure:
    return theme.figure(
        traces,
        height=height,
        showlegend=True,
        xaxis={"title": {"text": "message"}, "type": "log", **_ticks(TICKS)},
        yaxis={"type": "log", **_ticks(ticks)},
        margin={"t": 48 if len(traces) < 6 else 96},
    )


def _ticks(ticks: Mapping[float, str]) -> dict[str, object]:
    return {"tickvals": list(ticks), "ticktext": list(ticks.values())}
