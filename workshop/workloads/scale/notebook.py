"""Predictions in a notebook: `predict(run, ranks=(4, 2048), bandwidth=500.0)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workshop.core.errors import BadInput
from workshop.notebook.display import CardsDisplay
from workshop.notebook.shown import RunShown
from workshop.report.cards import Card
from workshop.workloads.scale import WORKLOAD, StepParams, cards, training_run
from workshop.workloads.scale.step import StepPrediction
from workshop.workloads.scale.step import predict as predict_step


class PredictionsDisplay(CardsDisplay):
    """Predictions by ranks, which show themselves as a table and a figure: `predictions[2048].seconds`."""

    def __init__(self, predictions: Sequence[StepPrediction], measured_rates: dict[int, float]) -> None:
        self._predictions = {prediction.ranks: prediction for prediction in predictions}
        self._measured_rates = measured_rates

    def __getitem__(self, ranks: int) -> StepPrediction:
        return self._predictions[ranks]

    def cards(self) -> Sequence[Card]:
        return [cards.predicted(list(self._predictions.values()), self._measured_rates)]


def predict(
    run: RunShown, ranks: int | Iterable[int], measured: Iterable[RunShown] = (), **changes: Any
) -> PredictionsDisplay:
    """Predict the step of a calibrated run, or of a data-parallel training run, on other numbers of ranks, with changed
    params of `training-step`. The figure also shows the rates of `measured` runs. Raises BadInput for ranks or params
    that can't be."""
    counts = [ranks] if isinstance(ranks, int) else list(ranks)
    measurement = training_run.measurement(run.store, run.record)
    changed = WORKLOAD.check({**measurement.params.model_dump(), **changes})
    assert isinstance(changed, StepParams)
    predictions = [predict_step(measurement, changed, count) for count in counts]
    rates = {}
    for other in measured:
        if other.record.workload != WORKLOAD.name or other.status != "completed":
            raise BadInput(f"Run {other.id} in `measured` is no run of `{WORKLOAD.name}` that has completed.")
        rates[other.placement["ranks"]] = other.metrics["examples_per_second"]
    return PredictionsDisplay(predictions, rates)
