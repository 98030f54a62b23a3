"""Cards of three ways side by side: curves with bands, final scores and differences seed by seed, published results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.analysis.findings import percent
from workshop.report.cards import Card, about, figure, line, paragraph, table
from workshop.report.figures import marks, theme
from workshop.study.cards import runs_card, runs_cell, verdict
from workshop.workloads.federated.report.panels import NAMES, SIDE_BY_SIDE
from workshop.workloads.federated.study import kind
from workshop.workloads.federated.study.kind import ALONE, PUBLISHED, WaysReport
from workshop.workloads.federated.study.plan import ON, WAYS, WAYS_ON, Band, Seeded

# The colours of a run's own page.
COLOURS = {
    "federated": theme.rank_colour(0),
    "centralised": theme.rank_colour(1),
    "alone": theme.rank_colour(2),
}
NOW = "now"
HEIGHT = 380  # pixels
BAND = 0.18  # how opaque a band is
FEW = 60  # rounds up to which each one is marked


def lines(
    bands: Mapping[str, Band | None], now: Seeded | None, on: str, rounds: int = 1, measure: str = ""
) -> go.Figure:
    """Draw the ways' scores on some data over rounds: the mean of the seeds that have ended with its band, and the run
    that goes on, `now`, as a dotted line. The axis has room for all `rounds`, so it doesn't move."""
    traces: list[go.Scatter] = []
    for way, band in bands.items():
        name, colour = NAMES[way], COLOURS[way]
        if band is not None:
            place, lows, highs = list(band.rounds), _short(band.lows), _short(band.highs)
            traces += marks.band(lows, highs, colour, BAND, x=place) if band.seeds > 1 else []
            seeds = f"mean of {band.seeds} seeds" if band.seeds > 1 else "one seed"
            hover = f"round %{{x}}: %{{y:.1%}}, {seeds}, %{{customdata[0]:.1%}} to %{{customdata[1]:.1%}}"
            traces.append(
                marks.line(
                    place,
                    _short(band.means),
                    colour,
                    f"{hover}<extra>{name}</extra>",
                    size=6 if len(place) <= FEW else 0,
                    line={"dash": "solid" if way == "federated" else "dash"},
                    name=f"{name} <b>{percent(band.means[-1])}</b>",
                    customdata=list(zip(lows, highs, strict=True)),
                )
            )
        if now is not None and (curve := now.curves.get((way, on))):
            traces.append(
                marks.line(
                    sorted(curve),
                    _short([curve[number] for number in sorted(curve)]),
                    colour,
                    f"round %{{x}}: %{{y:.1%}}, seed {now.seed}, going on<extra>{name}</extra>",
                    size=8,
                    line={"width": 1.5, "dash": "dot"},
                    marker={"size": 8, "symbol": "circle-open", "line": {"width": 2}},
                    name=f"{name}, seed {now.seed}",
                    showlegend=band is None,
                    meta=NOW,
                )
            )
    if not traces:
        return theme.nothing_yet("No round is over yet", HEIGHT)
    scores = [value for trace in traces for value in trace.y if value is not None]
    fine = max(scores, default=1.0) - min(scores, default=0.0) <= 0.05  # a decimal where scores are close together
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=True,
        hovermode="closest",
        xaxis={
            "title": {"text": "round"},
            "range": [0.5 if rounds > 1 else 0, rounds + 0.5],
            **({"dtick": 1} if rounds <= 12 else {"nticks": 10}),
        },
        yaxis={"title": {"text": measure}, "nticks": 7, "tickformat": ".1%" if fine else ".0%"},
        legend={"traceorder": "normal"},
    )


def _short(values: Sequence[float]) -> list[float | None]:
    """Return values with few digits, to make pages smaller; None, which is a gap, for NaN."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]


BANDS = "Lines are means over the seeds that have ended, bands go from the lowest to the highest of them."
GOING_ON = "Dotted with open marks: seed {seed}, which is learning now (run {run})."
SPREAD = "Mean ± standard deviation over the seeds; then what each seed came to."
PAIRED = "Seed by seed, since the same seed means the same luck for all ways: mean difference ± its standard error."


def cards(report: WaysReport) -> list[Card]:
    """The ways' curves by round, final scores and differences once a seed has ended, and what has been published."""
    curves = [_curves(report, on, title, text) for on, (title, text, _) in zip(ON, SIDE_BY_SIDE.values(), strict=True)]
    compared = [_final_scores(report), _differences(report)] if report.seeds else []
    return [verdict(report), *curves, *compared, _published(report), runs_card(report)]


def _curves(report: WaysReport, on: str, title: str, text: str) -> Card:
    now, description = report.now, report.study.description
    bands = {way: report.seeds.by_round(way, on) for way in WAYS}
    legend = [text] + [BANDS] * (len(report.seeds) > 1)
    legend += [GOING_ON.format(seed=now.seed, run=now.runs[-1])] if now is not None else []
    chart = lines(bands, now, on, int(description["params"]["rounds"]), description["measure"])
    return Card(f"rounds-{on}", title, (about(" ".join(legend)), figure(chart)), half=True)


def _final_scores(report: WaysReport) -> Card:
    """Return a card with each way's final scores, over the seeds and with each of them."""
    heads = ["Way", "Held-out images", "Institutions' own images"]
    rows = [[words.capital(NAMES[way]), *(kind.spread(report.seeds.scores(way, on)) for on in ON)] for way in WAYS]
    each = ["Seed", "Runs", *(f"{words.capital(kind.NAMES[way])}, {on.replace('_', '-')}" for way, on in WAYS_ON)]
    seeds = [
        [str(seeded.seed), runs_cell(seeded.runs), *(percent(seeded.scores[key]) for key in WAYS_ON)]
        for seeded in report.seeds
    ]
    return Card("came-to", "What each way came to", (about(SPREAD), table(heads, rows), table(each, seeds)))


def _differences(report: WaysReport) -> Card:
    rows = [
        [
            f"{words.capital(kind.NAMES[way])} against {kind.NAMES[other]}",
            kind.DATA[on],
            kind.mean_words(pair.differences, "points"),
            f"{pair.better} of {len(pair.pairs)}",
        ]
        for way, other, on, pair in report.pairs
    ]
    heads = ["What", "On", "Difference", "Seeds that are better"]
    return Card("differences", "How far apart", (about(PAIRED), table(heads, rows)))


def _published(report: WaysReport) -> Card:
    """Return a card with the relative gains over learning alone, here and in a publication."""
    heads = ["Better than alone", *(words.capital(kind.DATA[on]) for on in ON)]
    pairs = {way: [report.seeds.compare(way, ALONE, on) for on in ON] for way in WAYS if way != ALONE}
    rows = [
        [
            f"{words.capital(NAMES[way])}, here",
            *(kind.mean_words(pair.shares if pair else [], "%") for pair in compared),
        ]
        for way, compared in pairs.items()
    ]
    rows.append([f"Data of all, {kind.PUBLISHED_BY}", *(f"{100 * kind.PUBLISHED_GAINS[on]:+.2g} %" for on in ON)])
    lines = paragraph(line(PUBLISHED, "Published", "about"), line(kind.CAVEAT, tone="about"))
    return Card("published", "Beside what others have found", (table(heads, rows), lines))
