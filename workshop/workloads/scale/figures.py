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


def published(points: Sequence[ComparedPoint], fitted: Mapping[int, float]) -> go.Figure:
    """The efficiency of one curve by workers, relative to its first point: the points that were fitted, and measured
    ones beside their predictions with intervals."""
    (first, first_rate), *_ = fitted.items()

    def efficiency(workers: int, rate: float) -> float:
        return 100 * rate / workers / (first_rate / first)

    workers = [point.prediction.workers for point in points]
    lows = [efficiency(point.prediction.workers, point.prediction.low) for point in points]
    highs = [efficiency(point.prediction.workers, point.prediction.high) for point in points]
    line = {**fitted} | {point.prediction.workers: point.prediction.rate for point in points}
    measured = {**fitted} | {point.prediction.workers: point.measured for point in points}
    predicted = [efficiency(*point) for point in line.items()]
    traces = [
        *marks.band(lows, highs, PREDICTED, 0.25, x=workers),
        marks.line(list(line), predicted, PREDICTED, "%{x}: %{y:.1f} %", name="fitted and predicted"),
        *_measured({count: efficiency(count, rate) for count, rate in measured.items()}, "%"),
    ]
    figure = _by_workers(traces, "workers", "efficiency [%]")
    return figure.update_yaxes(type="linear", rangemode="tozero")


def steps(predictions: Mapping[str, StepPrediction]) -> go.Figure:
    """Steps by part, in milliseconds: a bar for each name. Parts that nobody would see are left out."""
    longest = max(prediction.seconds for prediction in predictions.values()) * 1000
    every = {part: [1000 * max(prediction.parts[part], 0.0) for prediction in predictions.values()] for part in PARTS}
    parts = {part: values for part, values in every.items() if max(values) > 0.002 * longest}
    return marks.stacked(
        list(predictions),
        parts,
        {part: {"color": COLOURS[part], "line": {"width": 0}} for part in parts},
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
