"""Predictions in sentences, tables and figures: for the page, the notebook and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.cards import Card, figure, line, table
from workshop.report.cards import paragraph as text
from workshop.report.figures import marks, theme
from workshop.workloads.scale.regression import ComparedPoint, PublishedMachine
from workshop.workloads.scale.step import PARTS, StepPrediction

COLOURS = {part: theme.rank_colour(number) for number, part in enumerate(PARTS)}
PREDICTED, MEASURED = theme.rank_colour(0), theme.rank_colour(1)


def predicted(predictions: Sequence[StepPrediction], measured_rates: Mapping[int, float]) -> Card:
    """Predictions by ranks: what limits them, a table, and the rates as a figure. `measured_rates`: examples/s by
    ranks."""
    first = predictions[0]
    rows = [
        (
            words.quantity(prediction.ranks),
            words.seconds(prediction.seconds),
            f"{words.seconds(prediction.low)} to {words.seconds(prediction.high)}",
            words.quantity(prediction.rate),
            words.percent(prediction.rate / prediction.ranks / (first.rate / first.ranks)),
            prediction.limit,
        )
        for prediction in predictions
    ]
    headings = ("ranks", "step", "90 % interval", "examples/s", "efficiency", "most time")
    sentences = [
        line(limits(predictions)),
        line(f"The efficiency is relative to {words.count(first.ranks, 'rank')}."),
    ]
    parts = (text(*sentences), table(headings, rows), figure(rates(predictions, measured_rates)))
    return Card("scale", "Predicted", parts)


def step_sentence(prediction: StepPrediction, rate: float | None) -> str:
    """The predicted step, and its error where the `rate` [examples/s] was measured."""
    sentence = (
        f"A step on {words.count(prediction.ranks, 'rank')} takes {words.seconds(prediction.seconds)}: "
        f"{words.seconds(prediction.low)} to {words.seconds(prediction.high)} with a probability of 90 %."
    )
    if rate:
        seconds = prediction.examples / rate
        error = prediction.seconds / seconds - 1
        sentence += f" Measured: {words.seconds(seconds)}, so that the prediction is {100 * error:+.1f} % off."
    return sentence


def limits(curve: Sequence[StepPrediction]) -> str:
    """From which number of ranks on another part takes most time."""
    changes = [(after.ranks, after.limit) for first, after in pairwise(curve) if after.limit != first.limit]
    later = "".join(f", from {words.quantity(ranks)} ranks {limit}" for ranks, limit in changes)
    return f"Most time takes {curve[0].limit}{later}."


def compared(machine: PublishedMachine, points: Sequence[ComparedPoint]) -> Card:
    """Published points beside their predictions, and what the source leaves open."""
    rows = [
        (
            point.curve,
            ", ".join(map(str, point.fitted)),
            words.quantity(point.prediction.workers),
            words.quantity(point.measured),
            words.quantity(point.prediction.rate),
            f"{words.quantity(point.prediction.low)} to {words.quantity(point.prediction.high)}",
            f"{100 * point.error:+.1f} %",
        )
        for point in points
    ]
    headings = ("curve", "fitted to", "workers", "measured", "predicted", "90 % interval", "error")
    notes = [
        f"{machine.source}. Rates are {machine.unit}. A worker is a {machine.worker}.",
        machine.note,
        "A curve of one point says nothing of scaling: its predictions are those for any machine."
        if any(len(point.fitted) < 2 for point in points)
        else "",
    ]
    return Card("published", machine.title, (table(headings, rows), text(*map(line, filter(None, notes)))))


def rates(predictions: Sequence[StepPrediction], measured: Mapping[int, float]) -> go.Figure:
    """Examples per second by ranks, both logarithmic, with intervals of 90 %, the line of perfect scaling, and the
    `measured` rates by ranks."""
    ranks = [prediction.ranks for prediction in predictions]
    first = predictions[0]
    perfect = [first.rate / first.ranks * count for count in ranks]
    lows = [prediction.examples / prediction.high for prediction in predictions]
    highs = [prediction.examples / prediction.low for prediction in predictions]
    hover = [
        f"{words.quantity(prediction.ranks)} ranks: {words.quantity(prediction.rate)} examples/s"
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
    return marks.stacked(list(predictions), parts, COLOURS, "ms")


def _measured(rates_by_count: Mapping[int, float], unit: str) -> list[go.Scatter]:
    if not rates_by_count:
        return []
    hover = [f"measured on {count}: {words.quantity(rate)} {unit}" for count, rate in rates_by_count.items()]
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
