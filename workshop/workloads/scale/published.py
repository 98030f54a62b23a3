"""Machines from the literature: their curves, and the model's predictions beside the measured points.

No point is fitted and predicted: a curve is fitted up to 16 workers, or without its last point where it ends before,
and predicts the rest. The prior is learned from curves, too: a machine's own curves have no part in it when it is left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product

import numpy as np
import yaml

from workshop.core.errors import BadInput
from workshop.workloads.scale.curve import ScalingCurve
from workshop.workloads.scale.model import PRIOR
from workshop.workloads.scale.regression import RatePrediction, fit

FITTED = 16  # workers, up to which points are fitted
GRID: Mapping[str, Sequence[float]] = {
    "bandwidth": (0.01,),
    "latency": (0.005, 0.01),
    "stragglers": (0.015, 0.03),
    "contention": (0.003, 0.006, 0.012),
    "hosts": (0.015, 0.03),
}  # means of the parameters that are tried
CANDIDATES = tuple(product(*GRID.values()))


@dataclass(frozen=True)
class PublishedMachine:
    """Curves of one machine, by name; `note` says what its source leaves open."""

    machine: str
    title: str
    source: str
    worker: str
    unit: str
    curves: Mapping[str, ScalingCurve]
    note: str = ""


@dataclass(frozen=True)
class ComparedPoint:
    """A measured rate that was not fitted, its prediction, the workers that were fitted, and the rate that the last
    fitted rate of a worker would give."""

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


def comparison(published: PublishedMachine, prior: Mapping[str, float] = PRIOR) -> list[ComparedPoint]:
    """Each point that isn't fitted, with its prediction. Raises BadInput where a machine has one point only."""
    points = []
    for name, curve in published.curves.items():
        if len(curve.workers) < 2:
            raise BadInput(f"{published.title} can't be predicted. {published.note}")
        count = fitted_points(curve)
        start = ScalingCurve(curve.workers[:count], curve.rates[:count])
        for prediction, measured in zip(
            fit(start, curve.workers[count:], prior).predicted, curve.rates[count:], strict=True
        ):
            naive = start.rates[-1] / start.workers[-1] * prediction.workers
            points.append(ComparedPoint(name, measured, prediction, start.workers, naive))
    return points


def fitted_points(curve: ScalingCurve) -> int:
    """How many points are fitted: those up to 16 workers, but never the last one."""
    return min(sum(count <= FITTED for count in curve.workers), len(curve.workers) - 1)


@cache
def _candidate_points(candidate: int) -> dict[str, list[ComparedPoint]]:
    """The predictions of all machines that can be fitted, by one of the priors."""
    return {
        name: comparison(published, dict(zip(GRID, CANDIDATES[candidate], strict=True)))
        for name, published in machines().items()
        if all(fitted_points(curve) > 1 for curve in published.curves.values())
    }


def learn(without: str = "") -> dict[str, float]:
    """The means of the prior with the least mean error of predictions on all machines, without a machine. They are
    chosen from a coarse grid, since few curves can't tell more."""

    def error(candidate: int) -> float:
        points = (points for name, points in _candidate_points(candidate).items() if name != without)
        return summary([point for of_machine in points for point in of_machine])["published_mean_error"]

    return dict(zip(GRID, CANDIDATES[min(range(len(CANDIDATES)), key=error)], strict=True))


def left_out() -> Iterator[tuple[PublishedMachine, list[ComparedPoint]]]:
    """Each machine that can be fitted, with predictions by a prior that was learned from the other machines."""
    for name in _candidate_points(0):
        yield machine(name), comparison(machine(name), learn(name))


def summary(points: Sequence[ComparedPoint]) -> dict[str, float]:
    """Mean errors of the predictions and of the rate of a worker that stays, and the share of points within their
    intervals."""
    return {
        "published_mean_error": float(np.mean([abs(point.error) for point in points])),
        "naive_mean_error": float(np.mean([abs(point.naive / point.measured - 1) for point in points])),
        "interval_coverage": float(np.mean([point.inside for point in points])),
    }
