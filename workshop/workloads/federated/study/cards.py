"""Cards of three ways side by side: curves with bands, final scores and differences seed by seed, published results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import plotly.graph_objects as go

from workshop.core import words as say
from workshop.report.analysis.scores import percent
from workshop.report.cards import Card, about, figure, line, table, words
from workshop.report.figures import marks, theme
from workshop.study.cards import runs_card, runs_cell, verdict
from workshop.workloads.federated.report.panels import NAMES
from workshop.workloads.federated.report.verdict import PUBLISHED
from workshop.workloads.federated.study import kind
from workshop.workloads.federated.study.kind import ALONE, WaysReport
from workshop.workloads.federated.study.results import ON, WAYS, WAYS_ON, Band, Curve

# The colours of a run's own page.
COLOURS = {
    "federated": theme.rank_colour(0),
    "centralised": theme.rank_colour(1),
    "alone": theme.rank_colour(2),
}
NOW = "now"
NOTHING = "No round is over yet"
BAND = 0.18  # how opaque a band is
FEW = 60  # rounds up to which each one is marked


@dataclass(frozen=True)
class WayCurve:
    """One way's curve: its band over the seeds; `now` has the scores by round of the run that goes on, of `seed`."""

    way: str
    name: str
    band: Band | None = None
    now: Curve = field(default_factory=dict)
    seed: int | None = None


def lines(ways: Sequence[WayCurve], rounds: int = 1, measure: str = "", height: int = 380) -> go.Figure:
    """Draw scores (0 to 1) over rounds: the mean of the seeds that have ended with its band, the run that goes on as a
    dotted line. The axis has room for all `rounds`, so it doesn't move."""
    traces: list[go.Scatter] = []
    for curve in ways:
        traces += [*_band(curve), *_mean(curve), *_now(curve)]
    if not traces:
        return theme.nothing_yet(NOTHING, height)
    scores = [value for trace in traces for value in trace.y if value is not None]
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
        yaxis=_values(measure, scores),
        margin={"t": 64},
        legend={"traceorder": "normal"},
    )


def _mean(curve: WayCurve) -> list[go.Scatter]:
    band = curve.band
    if band is None:
        return []
    seeds = f"mean of {band.seeds} seeds" if band.seeds > 1 else "one seed"
    return [
        marks.line(
            list(band.rounds),
            _short(band.means),
            COLOURS[curve.way],
            f"round %{{x}}: %{{y:.1%}}, {seeds}, %{{customdata[0]:.1%}} to %{{customdata[1]:.1%}}"
            f"<extra>{curve.name}</extra>",
            size=6 if len(band.rounds) <= FEW else 0,
            line={"dash": "solid" if curve.way == "federated" else "dash"},
            name=f"{curve.name} <b>{percent(band.means[-1])}</b>",
            customdata=list(zip(_short(band.lows), _short(band.highs), strict=True)),
        )
    ]


def _band(curve: WayCurve) -> list[go.Scatter]:
    band = curve.band
    if band is None or band.seeds < 2:
        return []
    return marks.band(_short(band.lows), _short(band.highs), COLOURS[curve.way], BAND, x=list(band.rounds))


def _now(curve: WayCurve) -> list[go.Scatter]:
    """Return the line of the run that goes on. It is in the legend where the way has no other line yet."""
    rounds = sorted(curve.now)
    return [
        marks.line(
            rounds,
            _short([curve.now[number] for number in rounds]),
            COLOURS[curve.way],
            f"round %{{x}}: %{{y:.1%}}, seed {curve.seed}, going on<extra>{curve.name}</extra>",
            size=8,
            line={"width": 1.5, "dash": "dot"},
            marker={"size": 8, "symbol": "circle-open", "line": {"width": 2}},
            name=f"{curve.name}, seed {curve.seed}",
            showlegend=curve.band is None,
            meta=NOW,
        )
    ] * bool(rounds)


def _short(values: Sequence[float]) -> list[float | None]:
    """Return values with few digits, to make pages smaller; None, which is a gap, for NaN."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]


def _values(measure: str, scores: Sequence[float]) -> dict[str, object]:
    """Return an axis of percentages, with a decimal where the scores are close together."""
    fine = bool(scores) and max(scores) - min(scores) <= 0.05
    return {"title": {"text": measure}, "nticks": 7, "tickformat": ".1%" if fine else ".0%"}


TITLES = {"held_out": "On held-out images", "own": "On their own"}
ABOUT = {
    "held_out": "Images that no institution has. All ways begin with the same weights and read as many images.",
    "own": "The mean over institutions, each on images of its own that it doesn't learn from.",
}
BANDS = "Lines are means over the seeds that have ended, bands go from the lowest to the highest of them."
GOING_ON = "Dotted with open marks: seed {seed}, which is learning now (run {run})."
SPREAD = "Mean ± standard deviation over the seeds; then what each seed came to."
PAIRED = (
    "Seed by seed, since the same seed means the same luck for all ways: mean difference ± its standard error, in "
    "points of a percentage, and in proportion to what the other came to. Chance: how likely two equal ways would come "
    "out as one-sided as this (sign test)."
)


def cards(report: WaysReport) -> list[Card]:
    return [
        verdict(report),
        *_curves(report),
        *_final_scores(report),
        *_differences(report),
        *_published(report),
        runs_card(report),
    ]


def _curves(report: WaysReport) -> list[Card]:
    """Return cards with the ways' curves by round so far."""
    now = report.now
    curve_cards = []
    for on in ON:
        ways = [
            WayCurve(
                way,
                NAMES[way],
                report.seeds.by_round(way, on),
                now.curves.get((way, on), {}) if now is not None else {},
                now.seed if now is not None else None,
            )
            for way in WAYS
        ]
        legend = [ABOUT[on]] + [BANDS] * (len(report.seeds) > 1)
        legend += [GOING_ON.format(seed=now.seed, run=now.run)] if now is not None else []
        chart = figure(lines(ways, report.rounds, report.measure))
        curve_cards.append(Card(f"rounds-{on}", TITLES[on], (about(" ".join(legend)), chart), half=True))
    return curve_cards


def _final_scores(report: WaysReport) -> list[Card]:
    """Return a card with each way's final scores, over the seeds and with each of them."""
    if not report.seeds:
        return []
    heads = ["Way", "Held-out images", "Institutions' own images"]
    rows = [[say.capital(NAMES[way]), *(kind.spread(report.seeds.spread(way, on)) for on in ON)] for way in WAYS]
    each = ["Seed", "Run", *(f"{say.capital(kind.NAMES[way])}, {on.replace('_', '-')}" for way, on in WAYS_ON)]
    seeds = [
        [str(run.seed), runs_cell([run.run]), *(percent(run.scores[key]) for key in WAYS_ON)] for run in report.seeds
    ]
    parts = (about(SPREAD), table(heads, rows), table(each, seeds))
    return [Card("came-to", "What each way came to", parts)]


def _differences(report: WaysReport) -> list[Card]:
    if not report.seeds:
        return []
    rows = [
        [
            f"{say.capital(kind.NAMES[pair.way])} against {kind.NAMES[pair.other]}",
            kind.DATA[pair.on],
            kind.difference(pair),
            kind.relative(pair),
            f"{pair.better} of {len(pair.differences)}",
            say.percent(pair.chance),
        ]
        for pair in report.pairs
    ]
    heads = ["What", "On", "Difference", "In proportion", "Seeds that are better", "Chance"]
    return [Card("differences", "How far apart", (about(PAIRED), table(heads, rows)))]


def _published(report: WaysReport) -> list[Card]:
    """Return a card with the relative gains over learning alone, here and in a publication."""
    heads = ["Better than alone", *(say.capital(kind.DATA[on]) for on in ON)]
    rows = [
        [f"{say.capital(NAMES[way])}, here", *(kind.relative(report.seeds.compare(way, ALONE, on)) for on in ON)]
        for way in WAYS
        if way != ALONE
    ]
    rows.append([f"Data of all, {kind.PUBLISHED_BY}", *(f"{100 * kind.PUBLISHED_GAINS[on]:+.2g} %" for on in ON)])
    lines = words(line(PUBLISHED, "Published", "about"), line(kind.CAVEAT, tone="about"))
    return [Card("published", "Beside what others have found", (table(heads, rows), lines))]
