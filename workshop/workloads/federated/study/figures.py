"""Three ways of learning by round: the mean of several seeds with their band, the run that goes on, real federations as
points; and what each way came to, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import plotly.graph_objects as go

from workshop.report.analysis.scores import percent
from workshop.report.figures import theme
from workshop.workloads.federated.study.results import Band, Curve

# As a run's own page draws them, in this order.
COLOURS = {
    "federated": theme.rank_colour(0),
    "centralised": theme.rank_colour(1),
    "alone": theme.rank_colour(2),
    "openfl": theme.rank_colour(4),
}
NOW = "now"
NOTHING = "No round is over yet"
BAND = 0.18  # how opaque a band is
FEW = 60  # rounds up to which each one is marked
JITTER = 0.06  # how far apart seeds stand beside each other, in widths of a way


@dataclass(frozen=True)
class WayCurve:
    """One way's curve: its band over the seeds, and the scores by round of the run that goes on, with its seed."""

    way: str
    name: str
    band: Band | None = None
    now: Curve = field(default_factory=dict)
    seed: int | None = None


def lines(
    ways: Sequence[WayCurve], real: Mapping[str, Curve], rounds: int = 1, measure: str = "", height: int = 380
) -> go.Figure:
    """Scores (0 to 1) over rounds: the mean of the seeds that have ended with its band, dotted the run that goes on,
    real federations (by name) as points. The axis has room for all `rounds`, so a picture that grows stays in place."""
    traces: list[go.Scatter] = []
    for one in ways:
        traces += [*_band(one), *_mean(one), *_now(one)]
    for name, values in real.items():
        traces += _real(name, values, first=name == next(iter(real)))
    if not traces:
        return theme.nothing_yet(NOTHING, height)
    told = [value for trace in traces for value in trace.y if value is not None]
    return theme.figure(
        traces,
        height=height,
        showlegend=True,
        hovermode="closest",
        xaxis={
            "title": {"text": "round"},
            "range": [0.5 if rounds > 1 else 0, rounds + 0.5],
            **({"dtick": 1} if rounds <= 12 else {"nticks": 10}),
        },
        yaxis=_values(measure, told),
        margin={"t": 64},
        legend={"traceorder": "normal"},
    )


def by_seed(
    ways: Mapping[str, str], values: Mapping[str, Sequence[tuple[int, float]]], measure: str, height: int = 320
) -> go.Figure:
    """What each way (key -> name) came to, from (seed, score): points joined by seed, and a bar across at their
    mean."""
    if not any(values.values()):
        return theme.nothing_yet("No seed has come to its end yet", height)
    seeds = sorted({seed for told in values.values() for seed, _ in told})
    widest = (len(seeds) - 1) / 2
    apart = min(JITTER, 0.3 / widest) if widest else 0.0
    place = {seed: apart * (number - widest) for number, seed in enumerate(seeds)}
    quiet = {"mode": "lines", "showlegend": False}
    traces = []
    for seed in seeds:
        x, y = ([at + place[seed] for at in range(len(ways))], [dict(values.get(way, ())).get(seed) for way in ways])
        traces.append(go.Scatter(x=x, y=y, line={"color": theme.LINE, "width": 1.5}, hoverinfo="skip", **quiet))
    for at, (way, name) in enumerate(ways.items()):
        if told := values.get(way):
            mean = fmean(value for _, value in told)
            across = {"color": COLOURS[way], "width": 4}
            hover = f"mean of {name}: %{{y:.1%}}<extra></extra>"
            traces += [
                go.Scatter(x=[at - 0.32, at + 0.32], y=[mean, mean], line=across, hovertemplate=hover, **quiet),
                go.Scatter(
                    x=[at + place[seed] for seed, _ in told],
                    y=[value for _, value in told],
                    mode="markers",
                    marker={"size": 11, "color": COLOURS[way], "line": {"width": 1.5, "color": theme.PAPER}},
                    showlegend=False,
                    hovertext=[f"{name}, seed {seed}: {percent(value)}" for seed, value in told],
                    hovertemplate="%{hovertext}<extra></extra>",
                ),
            ]
    return theme.figure(
        traces,
        height=height,
        showlegend=False,
        hovermode="closest",
        xaxis={
            "tickvals": list(range(len(ways))),
            "ticktext": list(ways.values()),
            "range": [-0.5, len(ways) - 0.5],
            "showgrid": False,
            "tickangle": 0,
            "tickfont": {"color": theme.INK},
        },
        yaxis=_values(measure, [value for told in values.values() for _, value in told]),
    )


def _mean(one: WayCurve) -> list[go.Scatter]:
    band = one.band
    if band is None:
        return []
    seeds = f"mean of {band.seeds} seeds" if band.seeds > 1 else "one seed"
    return [
        go.Scatter(
            x=list(band.rounds),
            y=_short(band.means),
            name=f"{one.name} <b>{percent(band.means[-1])}</b>",
            mode="lines+markers" if len(band.rounds) <= FEW else "lines",
            line={"color": COLOURS[one.way], "width": 3, "dash": "solid" if one.way == "federated" else "dash"},
            marker={"size": 6},
            customdata=list(zip(_short(band.lows), _short(band.highs), strict=True)),
            hovertemplate=f"round %{{x}}: %{{y:.1%}}, {seeds}, %{{customdata[0]:.1%}} to %{{customdata[1]:.1%}}"
            f"<extra>{one.name}</extra>",
        )
    ]


def _band(one: WayCurve) -> list[go.Scatter]:
    band, colour = one.band, COLOURS[one.way]
    if band is None or band.seeds < 2:
        return []
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "x": list(band.rounds)}
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return [
        go.Scatter(y=_short(band.lows), **edge),
        go.Scatter(y=_short(band.highs), fill="tonexty", fillcolor=f"rgba({red},{green},{blue},{BAND})", **edge),
    ]


def _now(one: WayCurve) -> list[go.Scatter]:
    """The run that goes on; in the legend where the way has no line of its own yet."""
    rounds = sorted(one.now)
    return [
        go.Scatter(
            x=rounds,
            y=_short([one.now[number] for number in rounds]),
            name=f"{one.name}, seed {one.seed}",
            mode="lines+markers",
            line={"color": COLOURS[one.way], "width": 1.5, "dash": "dot"},
            marker={"size": 8, "symbol": "circle-open", "line": {"width": 2}},
            showlegend=one.band is None,
            meta=NOW,
            hovertemplate=f"round %{{x}}: %{{y:.1%}}, seed {one.seed}, going on<extra>{one.name}</extra>",
        )
    ] * bool(rounds)


def _real(name: str, values: Curve, first: bool) -> list[go.Scatter]:
    rounds, edge = sorted(values), {"width": 1.5, "color": theme.PAPER}
    return [
        go.Scatter(
            x=rounds,
            y=_short([values[number] for number in rounds]),
            name="real OpenFL federation",
            legendgroup="openfl",
            mode="markers",
            marker={"size": 10, "symbol": "diamond", "color": COLOURS["openfl"], "line": edge},
            showlegend=first,
            hovertemplate=f"round %{{x}}: %{{y:.1%}}<extra>{name}</extra>",
        )
    ] * bool(rounds)


def _short(values: Sequence[float]) -> list[float | None]:
    """Fewer digits than a screen can't show anyway; what is no number is a gap."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]


def _values(measure: str, told: Sequence[float]) -> dict[str, object]:
    """The axis of percentages, as fine as they are apart."""
    fine = bool(told) and max(told) - min(told) <= 0.05
    return {"title": {"text": measure}, "nticks": 7, "tickformat": ".1%" if fine else ".0%"}
