"""Predictions in sentences and tables: for the page, the notebook and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from workshop.core import words
from workshop.report.cards import Card, figure, line, table
from workshop.report.cards import words as text
from workshop.workloads.scale import figures
from workshop.workloads.scale.published import ComparedPoint, PublishedMachine
from workshop.workloads.scale.step import StepPrediction
from workshop.workloads.scale.training_time import WATTS, TrainingPreset, TrainingTime


def predicted(predictions: Sequence[StepPrediction], measured_rates: Mapping[int, float]) -> Card:
    """Predictions by ranks: what limits them, a table, and the rates as a figure. `measured_rates`: examples/s by
    ranks."""
    first = predictions[0]
    rows = [
        (
            words.thousands(prediction.ranks),
            words.seconds(prediction.seconds),
            f"{words.seconds(prediction.low)} to {words.seconds(prediction.high)}",
            words.rate(prediction.rate),
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
    parts = (text(*sentences), table(headings, rows), figure(figures.rates(predictions, measured_rates)))
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
    later = "".join(f", from {words.thousands(ranks)} ranks {limit}" for ranks, limit in changes)
    return f"Most time takes {curve[0].limit}{later}."


def compared(machine: PublishedMachine, points: Sequence[ComparedPoint]) -> Card:
    """Published points beside their predictions, and what the source leaves open."""
    rows = [
        (
            point.curve,
            ", ".join(map(str, point.fitted)),
            words.thousands(point.prediction.workers),
            words.rate(point.measured),
            words.rate(point.prediction.rate),
            f"{words.rate(point.prediction.low)} to {words.rate(point.prediction.high)}",
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


def trainings(preset: TrainingPreset, times: Sequence[TrainingTime]) -> Card:
    """The time, device hours and energy of a training by devices, with the assumptions."""
    rows = [
        (
            words.thousands(time.devices),
            words.thousands(time.copies),
            _days(time.seconds),
            f"{_days(time.low)} to {_days(time.high)}",
            words.thousands(round(time.device_hours)),
            words.thousands(round(time.energy)),
        )
        for time in times
    ]
    headings = ("devices", "copies", "time", "90 % interval", "device hours", "kWh")
    tensor, stages = preset.cut
    cut = f"A copy has {words.count(stages, 'stage')} of {words.count(tensor, 'tensor rank')}."
    notes = [
        f"{words.thousands(round(preset.examples))} examples, {words.thousands(preset.global_batch)} in a step. "
        f"{preset.source}.",
        f"Assumed: {preset.device}; links of 25 GB/s between hosts of eight devices; {WATTS} W for a device; no "
        "failures.",
        cut if tensor * stages > 1 else "",
    ]
    return Card("training-time", preset.title, (table(headings, rows), text(*map(line, filter(None, notes)))))


def _days(seconds: float) -> str:
    """A time with three digits in minutes, hours or days."""
    factor, unit = next((each for each in ((86400, "days"), (3600, "h")) if seconds >= 2 * each[0]), (60, "min"))
    return f"{seconds / factor:,.0f} {unit}" if seconds >= 100 * factor else f"{seconds / factor:.3g} {unit}"
