"""Machines from the literature: their curves, and the model's predictions beside the measured points.

No point is fitted and predicted: a curve is fitted up to 16 workers, or without its last point where it ends before,
and predicts the rest. The prior and the errors of points were chosen with all these curves in view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from workshop.core.errors import BadInput
from workshop.workloads.scale.regression import RatePrediction, ScalingCurve, fit

FITTED = 16  # workers, up to which points are fitted


@dataclass(frozen=True)
class PublishedMachine:
    """Curves of one machine, by name; `note` says what its source leaves open. `changes`: the method isn't the same at
    all points, so that the curves can't judge the model."""

    machine: str
    title: str
    source: str
    worker: str
    unit: str
    curves: Mapping[str, ScalingCurve]
    note: str = ""
    changes: bool = False


@dataclass(frozen=True)
class ComparedPoint:
    """A measured rate that was not fitted, its prediction, the workers that were fitted, and the `naive` prediction by
    the last fitted rate of a worker."""

    curve: str
    measured: float
    prediction: RatePrediction
    fitted: tuple[int, ...]
    naive: float

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return self.prediction.rate / self.measured - 1

    @property
    def inside(self) -> bool:
        return self.prediction.low <= self.measured <= self.prediction.high


@cache
def machines() -> dict[str, PublishedMachine]:
    """All machines by name."""
    rows = yaml.safe_load(files("workshop.workloads.scale").joinpath("published.yaml").read_text("utf-8"))
    return {
        row["machine"]: PublishedMachine(
            **{
                **row,
                "curves": {
                    name: ScalingCurve(tuple(rates), tuple(map(float, rates.values())))
                    for name, rates in row["curves"].items()
                },
            }
        )
        for row in rows
    }


def machine(name: str) -> PublishedMachine:
    """The machine of that name. Raises BadInput for another name."""
    if name not in machines():
        raise BadInput(f"There is no published machine {name!r}; there are {', '.join(machines())}.")
    return machines()[name]


def comparison(published: PublishedMachine) -> list[ComparedPoint]:
    """Each point that isn't fitted, with its prediction. Raises BadInput where a machine has one point only."""
    points = []
    for name, curve in published.curves.items():
        if len(curve.workers) < 2:
            raise BadInput(f"{published.title} can't be predicted. {published.note}")
        count = fitted_points(curve)
        start = ScalingCurve(curve.workers[:count], curve.rates[:count])
        predicted = fit(start, curve.workers[count:]).predicted
        for prediction, measured in zip(predicted, curve.rates[count:], strict=True):
            naive = start.rates[-1] / start.workers[-1] * prediction.workers
            points.append(ComparedPoint(name, measured, prediction, start.workers, naive))
    return points


def fitted_points(curve: ScalingCurve) -> int:
    """How many points are fitted: those up to 16 workers, but never the last one."""
    return min(sum(count <= FITTED for count in curve.workers), len(curve.workers) - 1)
