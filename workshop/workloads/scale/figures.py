"""Figures of scaling: predicted rates by ranks with their intervals, a step by parts, and published points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.figures import marks, theme
from workshop.workloads.scale.published import ComparedPoint
from workshop.workloads.scale.step import PARTS, StepPrediction

COLOURS = {part: theme.rank_colour(number) for number, part in enumerate(PARTS)}
PREDICTED, MEASURED = theme.rank_colour(0), theme.rank_colour(1)


def rates(predictions: Sequence[StepPrediction], measured: Mapping[int, float]) -> go.Figure:
    """Examples per second by ranks, both logarithmic, with intervals of 90 %, the line of perfect scaling, and the
    `measured` rates by ranks."""
    ranks = [prediction.ranks for prediction in predictions]
    first = predictions[0]
    perfect = [first.rate / first.ranks * count for count in ranks]
    lows = [prediction.examples / prediction.high for prediction in predictions]
    highs = [prediction.examples / prediction.low for prediction in predictions]
    hover = [
        f"{words.thousands(prediction.ranks)} ranks: {words.rate(prediction.rate)} examples/s"
        for prediction in predictions
    ]
    traces = [
        *marks.band(lows, highs, PREDICTED, 0.25, x=ranks),
        marks.line(ranks, perfect, theme.MUTED, "", line={"dash": "dot"}, name="perfect scaling"),
        marks.line(ranks, [prediction.rate for prediction in predictions], PREDICTED, hover, name="predicted"),
    ]
    return _by_workers([*traces, *_measured(measured, "examples/s")], "ranks", "examples/s")


def published(points: Sequence[ComparedPoint], fitted: Mapping[int, float], unit: str) -> go.Figure:
    """The points of one curve that were fitted, and measured points beside their predictions with intervals."""
    workers = [point.prediction.workers for point in points]
    predicted = [point.prediction.rate for point in points]
    traces = [
        *marks.band(
            [point.prediction.low for point in points],
            [point.prediction.high for point in points],
            PREDICTED,
            0.25,
            x=workers,
        ),
        marks.line(
            [*fitted, *workers],
            [*fitted.values(), *predicted],
            PREDICTED,
            f"%{{x}}: %{{y:.4g}} {unit}",
            name="predicted",
        ),
    ]
    measured = {**fitted, **{point.prediction.workers: point.measured for point in points}}
    return _by_workers([*traces, *_measured(measured, unit)], "workers", unit)


def steps(predictions: Mapping[str, StepPrediction]) -> go.Figure:
    """Steps by part, in milliseconds: a bar for each name."""
    parts = {part: [1000 * max(prediction.parts[part], 0.0) for prediction in predictions.values()] for part in PARTS}
    longest = max(prediction.seconds for prediction in predictions.values()) * 1000
    return marks.stacked(
        list(predictions),
        parts,
        {part: {"color": colour, "line": {"width": 0}} for part, colour in COLOURS.items()},
        {part: f"%{{y}}<br>{part}: %{{x:.3g}} ms<extra></extra>" for part in parts},
        {
            part: [f"{value:.3g}" if value > 0.06 * longest else "" for value in values]
            for part, values in parts.items()
        },
        ("input", "compute"),
        height=170 + 50 * len(predictions),
        xaxis={"title": {"text": "ms"}, "rangemode": "tozero"},
    )


def _measured(rates_by_count: Mapping[int, float], unit: str) -> list[go.Scatter]:
    if not rates_by_count:
        return []
    hover = [f"measured on {count}: {words.rate(rate)} {unit}" for count, rate in rates_by_count.items()]
    return [
        marks.points(list(rates_by_count), list(rates_by_count.values()), MEASURED, hover, size=11, name="measured")
    ]


def _by_workers(traces: list[go.Scatter], title: str, unit: str) -> go.Figure:
    return theme.figure(
        traces,
        height=400,
        showlegend=True,
        xaxis={"title": {"text": title}, "type": "log"},
        yaxis={"title": {"text": unit}, "type": "log"},
    )
