"""Machines from the literature: their curves, and the model's predictions beside the measured points.

No point is fitted and predicted: a curve is fitted up to 16 workers, or without its last point where it ends before,
and predicts the rest. The prior is learned from curves, too: a machine's own curves have no part in it when it is left
out. Its form and the errors of points were chosen with all these curves in view.
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
from workshop.workloads.scale.regression import DRAWS, PRIOR, RatePrediction, ScalingCurve, fit

FITTED, COMPARED = 16, 256  # workers, up to which points are fitted, and up to which predictions are judged
GRID_DRAWS = 10_000  # enough to choose among priors
GRID: Mapping[str, Sequence[float]] = {
    "bandwidth": (0.02, 0.06),
    "latency": (0.005, 0.015),
    "stragglers": (0.015, 0.03),
    "contention": (0.0003, 0.001, 0.003),
    "hosts": (0.03, 0.08),
}  # means of the parameters that are tried
CANDIDATES = tuple(product(*GRID.values()))


@dataclass(frozen=True)
class PublishedMachine:
    """Curves of one machine, by name; `note` says what its source leaves open. `changes`: the method isn't the same at
    all points."""

    machine: str
    title: str
    source: str
    worker: str
    unit: str
    curves: Mapping[str, ScalingCurve]
    note: str = ""
    changes: bool = False

    @property
    def judges(self) -> bool:
        """Whether the curves can judge the model: they have several points to fit, and one method."""
        return not self.changes and all(fitted_points(curve) > 1 for curve in self.curves.values())


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


def comparison(
    published: PublishedMachine, prior: Mapping[str, float] = PRIOR, draws: int = DRAWS
) -> list[ComparedPoint]:
    """Each point that isn't fitted, with its prediction. Raises BadInput where a machine has one point only."""
    points = []
    for name, curve in published.curves.items():
        if len(curve.workers) < 2:
            raise BadInput(f"{published.title} can't be predicted. {published.note}")
        count = fitted_points(curve)
        start = ScalingCurve(curve.workers[:count], curve.rates[:count])
        for prediction, measured in zip(
            fit(start, curve.workers[count:], prior, draws).predicted, curve.rates[count:], strict=True
        ):
            naive = start.rates[-1] / start.workers[-1] * prediction.workers
            points.append(ComparedPoint(name, measured, prediction, start.workers, naive))
    return points


def fitted_points(curve: ScalingCurve) -> int:
    """How many points are fitted: those up to 16 workers, but never the last one."""
    return min(sum(count <= FITTED for count in curve.workers), len(curve.workers) - 1)


@cache
def _candidate_points(candidate: int) -> dict[str, list[ComparedPoint]]:
    """The predictions of all machines with one method and a point to fit, by one of the priors."""
    prior = dict(zip(GRID, CANDIDATES[candidate], strict=True))
    return {
        name: comparison(published, prior, GRID_DRAWS)
        for name, published in machines().items()
        if not published.changes and all(fitted_points(curve) for curve in published.curves.values())
    }


def learn(without: str = "") -> dict[str, float]:
    """The means of the prior with the least mean error of predictions on all machines, without a machine. Each machine
    counts once. The means are chosen from a coarse grid, since few curves can't tell more."""

    def error(candidate: int) -> float:
        points_of_machines = (points for name, points in _candidate_points(candidate).items() if name != without)
        return float(np.mean([summary(points)["published_mean_error"] for points in points_of_machines]))

    return dict(zip(GRID, CANDIDATES[min(range(len(CANDIDATES)), key=error)], strict=True))


def left_out() -> Iterator[tuple[PublishedMachine, list[ComparedPoint]]]:
    """Each machine that can judge the model, with its predictions for up to 256 workers, by a prior that was learned
    from the other machines."""
    for name, published in machines().items():
        if published.judges:
            points = comparison(published, learn(name))
            yield published, [point for point in points if point.prediction.workers <= COMPARED]


def summary(points: Sequence[ComparedPoint]) -> dict[str, float]:
    """Mean errors of the predictions and of the rate of a worker that stays, and the share of points within their
    intervals."""
    return {
        "published_mean_error": float(np.mean([abs(point.error) for point in points])),
        "naive_mean_error": float(np.mean([abs(point.naive / point.measured - 1) for point in points])),
        "interval_coverage": float(np.mean([point.inside for point in points])),
    }
