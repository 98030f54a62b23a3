"""Three ways of learning by round: the mean of several seeds with their band, the run that goes on, real federations as
points; and what each way came to, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import plotly.graph_objects as go

from workshop.report.figures import theme

# As a run's own page draws them, in this order.
COLOURS = {
    "federated": theme.rank_colour(0),
    "centralised": theme.rank_colour(1),
    "alone": theme.rank_colour(2),
    "openfl": theme.rank_colour(4),
}
DASHES = {"federated": "solid"}  # all others: dashed
NOW = "now"
NOTHING = "No round is over yet"
BAND = 0.18  # how opaque a band is
FEW = 60  # rounds up to which each one is marked
JITTER = 0.06  # how far apart seeds stand beside each other, in widths of a way


@dataclass(frozen=True)
class Line:
    """One way's curve: mean, lowest and highest over the seeds by round, and those of the run that goes on."""

    way: str
    name: str
    rounds: Sequence[int] = ()
    means: Sequence[float] = ()
    lows: Sequence[float] = ()
    highs: Sequence[float] = ()
    seeds: int = 0
    now: Mapping[int, float] = field(default_factory=dict)  # round -> score
    seed: int | None = None  # of the run that goes on


@dataclass(frozen=True)
class Points:
    """A real federation by round."""

    name: str
    values: Mapping[int, float]


def lines(
    ways: Sequence[Line], real: Sequence[Points] = (), rounds: int = 1, measure: str = "", height: int = 380
) -> go.Figure:
    """Scores (0 to 1) over rounds. A solid or dashed line is the mean of the seeds that have ended, its band their
    lowest and highest; the thin dotted line with open marks is the run that goes on. The axis has room for all
    `rounds`, so that a picture that grows stays where it is."""
    traces: list[go.Scatter] = []
    for one in ways:
        traces += [*_band(one), *_mean(one), *_now(one)]
    for number, points in enumerate(real):
        traces += _real(points, first=number == 0)
    if not traces:
        return theme.nothing_yet(NOTHING, height)
    told = [value for trace in traces for value in trace.y if value is not None and math.isfinite(value)]
    return theme.figure(
        traces,
        height=height,
        showlegend=True,
        hovermode="closest",
        xaxis={"title": {"text": "round"}, "range": [0.5 if rounds > 1 else 0, rounds + 0.5], **_ticks(rounds)},
        yaxis={"title": {"text": measure}, "nticks": 7, **_values(told)},
        margin={"t": 64},
        legend={"traceorder": "normal"},
    )


def by_seed(
    ways: Mapping[str, str], values: Mapping[str, Sequence[tuple[int, float]]], measure: str, height: int = 320
) -> go.Figure:
    """What each way (key -> name) came to with each seed, from (seed, score): a point for each seed, a bar across at
    their mean, and thin lines between points of the same seed."""
    if not any(values.values()):
        return theme.nothing_yet("No seed has come to its end yet", height)
    traces = []
    seeds = sorted({seed for told in values.values() for seed, _ in told})
    place = {seed: JITTER * (number - (len(seeds) - 1) / 2) for number, seed in enumerate(seeds)}
    scale = min(0.3 / max(abs(one) for one in place.values()), 1.0) if len(seeds) > 1 else 1.0
    for seed in seeds:
        points = [(at, dict(values.get(way, ())).get(seed)) for at, way in enumerate(ways)]
        traces.append(
            go.Scatter(
                x=[at + scale * place[seed] for at, _ in points],
                y=[value for _, value in points],
                mode="lines",
                line={"color": theme.LINE, "width": 1.5},
                showlegend=False,
                hoverinfo="skip",
            )
        )
    for at, (way, name) in enumerate(ways.items()):
        told = values.get(way) or ()
        if not told:
            continue
        mean = math.fsum(value for _, value in told) / len(told)
        across = {"color": COLOURS[way], "width": 4}
        traces.append(
            go.Scatter(
                x=[at - 0.32, at + 0.32],
                y=[mean, mean],
                mode="lines",
                line=across,
                showlegend=False,
                hovertemplate=f"mean of {name}: %{{y:.1%}}<extra></extra>",
            )
        )
        traces.append(
            go.Scatter(
                x=[at + scale * place[seed] for seed, _ in told],
                y=[value for _, value in told],
                mode="markers",
                marker={"size": 11, "color": COLOURS[way], "line": {"width": 1.5, "color": theme.PAPER}},
                showlegend=False,
                hovertext=[f"{name}, seed {seed}: {100 * value:.1f} %" for seed, value in told],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    every = [value for told in values.values() for _, value in told]
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
        yaxis={"title": {"text": measure}, "nticks": 7, **_values(every)},
    )


def _mean(one: Line) -> list[go.Scatter]:
    if not one.rounds:
        return []
    newest = f"{100 * one.means[-1]:.1f} %"
    seeds = f"mean of {one.seeds} seeds" if one.seeds > 1 else "one seed"
    return [
        go.Scatter(
            x=list(one.rounds),
            y=_short(one.means),
            name=f"{one.name} <b>{newest}</b>",
            mode="lines+markers" if len(one.rounds) <= FEW else "lines",
            line={"color": COLOURS[one.way], "width": 3, "dash": DASHES.get(one.way, "dash")},
            marker={"size": 6},
            customdata=list(zip(_short(one.lows), _short(one.highs), strict=True)),
            hovertemplate=f"round %{{x}}: %{{y:.1%}}, {seeds}, %{{customdata[0]:.1%}} to %{{customdata[1]:.1%}}"
            f"<extra>{one.name}</extra>",
        )
    ]


def _band(one: Line) -> list[go.Scatter]:
    if one.seeds < 2 or not one.rounds:
        return []
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "x": list(one.rounds)}
    colour = COLOURS[one.way]
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return [
        go.Scatter(y=_short(one.lows), **edge),
        go.Scatter(y=_short(one.highs), fill="tonexty", fillcolor=f"rgba({red},{green},{blue},{BAND})", **edge),
    ]


def _now(one: Line) -> list[go.Scatter]:
    """The run that goes on; in the legend where the way has no line of its own yet."""
    if not one.now:
        return []
    rounds = sorted(one.now)
    return [
        go.Scatter(
            x=rounds,
            y=_short([one.now[number] for number in rounds]),
            name=f"{one.name}, seed {one.seed}",
            mode="lines+markers",
            line={"color": COLOURS[one.way], "width": 1.5, "dash": "dot"},
            marker={"size": 8, "symbol": "circle-open", "line": {"width": 2}},
            showlegend=not one.rounds,
            meta=NOW,
            hovertemplate=f"round %{{x}}: %{{y:.1%}}, seed {one.seed}, going on<extra>{one.name}</extra>",
        )
    ]


def _real(points: Points, first: bool) -> list[go.Scatter]:
    rounds = sorted(points.values)
    return [
        go.Scatter(
            x=rounds,
            y=_short([points.values[number] for number in rounds]),
            name="real OpenFL federation",
            legendgroup="openfl",
            mode="markers",
            marker={
                "size": 10,
                "symbol": "diamond",
                "color": COLOURS["openfl"],
                "line": {"width": 1.5, "color": theme.PAPER},
            },
            showlegend=first,
            hovertemplate=f"round %{{x}}: %{{y:.1%}}<extra>{points.name}</extra>",
        )
    ] * bool(rounds)


def _short(values: Sequence[float]) -> list[float | None]:
    """Fewer digits than a screen can't show anyway; what is no number is a gap."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]


def _ticks(rounds: int) -> dict[str, object]:
    return {"dtick": 1} if rounds <= 12 else {"nticks": 10}


def _values(told: Sequence[float]) -> dict[str, object]:
    """Percentages, as fine as they are apart."""
    return {"tickformat": ".0%" if not told or max(told) - min(told) > 0.05 else ".1%"}
