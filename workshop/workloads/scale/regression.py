"""Fit a model to a measured curve, and predict the rate of other numbers of workers with intervals.

The fit is a least squares of the logarithms of the rates. A curve has two to four points and the model five parameters,
so a prior keeps each parameter small: five further residuals. Intervals come from draws of the covariance of the fit,
cut off at 0, below which no parameter can be. Without the cut, intervals are too wide upwards: no rate is above that of
perfect scaling. On the published curves, 86 to 96 % of the points that weren't fitted lie inside,
depending on how many were fitted.

The model is the time of a step on n workers, relative to one worker. Each worker computes its batch, and then all wait
for the slowest worker and exchange their gradients:

    t(n) / t(1) = 1 + bandwidth (n - 1) / n + latency log2(n) + stragglers z(n) + contention (n - 1) + hosts [n > h]

`bandwidth`: a ring moves 2 (n - 1) / n of the gradients' bytes (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69,
2009). `latency`: a tree takes log2(n) messages (Thakur et al., Int. J. High Perform. Comput. Appl. 19, 2005).
`stragglers`: the slowest of n normal times lies z(n) standard deviations above the mean (Blom 1958). `contention`: work
that workers do one after the other, as in Amdahl's law, or a server that serves all of them. `hosts`: the exchange
leaves a host of h workers. All parameters are 0 or more.

Machines from the literature: their curves, and the model's predictions beside the measured points.

No point is fitted and predicted: a curve is fitted up to 16 workers, or without its last point where it ends before,
and predicts the rest. The prior and the errors of points were chosen with all these curves in view.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import ndtri

from workshop.core import words
from workshop.core.errors import BadInput

Floats = NDArray[np.float64]

# The standard deviation of each parameter before any data: half of a normal distribution that begins at 0. These are
# an assumption, which was chosen with the published curves in view.
PRIOR: Mapping[str, float] = {
    "bandwidth": 0.044,
    "latency": 0.011,
    "stragglers": 0.033,
    "contention": 0.00066,
    "hosts": 0.066,
}
MOST = 10.0  # standard deviations of the prior: a fit can't go beyond
HOST_SIZES = (1, 2, 4, 8, 16)  # numbers of workers on a host; the fit uses the best one

DRAWS = 500
SEED = 20171
NOISE = 0.01  # relative error of a measured rate
DISCREPANCY = 0.028  # relative error of the model for each doubling beyond the largest measured number of workers
LEVEL = 0.9
WRONG = 0.15  # mean relative error of a fit from which on the model doesn't describe the points


@dataclass(frozen=True)
class ScalingCurve:
    """Measured rates [examples/s of all workers together] by number of workers, which never fall; a number comes as
    often as it was measured."""

    workers: tuple[int, ...]
    rates: tuple[float, ...]


def read_curve(text: str, file: str) -> ScalingCurve:
    """The curve of a CSV file with the columns workers and rate. Raises BadInput with the name of the file and the
    line."""
    rows = csv.DictReader(text.lower().splitlines(), skipinitialspace=True)
    points = []
    for row in rows:
        try:
            workers, rate = int(row["workers"]), float(row["rate"])
        except (KeyError, TypeError, ValueError):
            workers, rate = 0, 0.0
        if workers < 1 or not 0 < rate < math.inf:
            raise BadInput(f"{file}, line {rows.line_num}: the columns workers and rate should have numbers above 0.")
        points.append((workers, rate))
    counts, rates = zip(*sorted(points), strict=True) if points else ((), ())
    if len(set(counts)) < 2:
        raise BadInput(f"{file} has {words.count(len(set(counts)), 'number')} of workers; a fit takes at least two.")
    return ScalingCurve(counts, rates)


def slowest(workers: Floats) -> Floats:
    """The expected largest of n standard normal numbers (Blom 1958): z(n), 0 for one worker."""
    return np.where(workers > 1, ndtri((workers - 0.375) / (workers + 0.25)), 0.0)


def terms(workers: Sequence[int], host_size: int) -> Floats:
    """The factors of the parameters [parameters, points], in the order of `PRIOR`."""
    count = np.asarray(workers, float)
    return np.array([(count - 1) / count, np.log2(count), slowest(count), count - 1, count > host_size])


def step_times(parameters: Floats, host_size: int, workers: Sequence[int]) -> Floats:
    """t(n) / t(1) [..., points] for parameters [..., parameters]."""
    times: Floats = 1 + parameters @ terms(workers, host_size)
    return times


@dataclass(frozen=True)
class RatePrediction:
    """The predicted rate of all workers together, and the interval that holds it with a probability of 90 %."""

    workers: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class Fitted:
    """A fit: value and standard deviation of each parameter, the rate of one worker, the fitted rate of each measured
    point, and the mean relative error of these. Nothing is predicted where the model doesn't describe the points: the
    `note` says so."""

    curve: ScalingCurve
    parameters: dict[str, tuple[float, float]]
    rate_of_one: float
    rates: tuple[float, ...]
    mean_error: float
    note: str
    predicted: tuple[RatePrediction, ...]


@dataclass(frozen=True)
class _Optimum:
    """The values that fit best for workers of a host: the parameters, and the logarithm of the rate of one worker; with
    their covariance, and the logarithm of how probable the points are."""

    host_size: int
    values: Floats
    covariance: Floats
    evidence: float

    @classmethod
    def find(cls, curve: ScalingCurve, host_size: int) -> _Optimum:
        """The optimum for one size of hosts."""
        measured = np.log(curve.rates)
        deviations = np.array(list(PRIOR.values()))

        def residuals(values: Floats) -> Floats:
            return np.append(
                (_logarithms(values, host_size, curve.workers) - measured) / NOISE, values[:-1] / deviations
            )

        start = np.append(deviations / 10, measured[0] - np.log(curve.workers[0]))
        most = np.append(MOST * deviations, np.inf)
        least = np.append(0 * deviations, -np.inf)
        optimum = least_squares(residuals, start, bounds=(least, most), x_scale=np.append(deviations, 1.0))
        covariance = np.linalg.inv(optimum.jac.T @ optimum.jac)
        return cls(host_size, optimum.x, covariance, float(np.linalg.slogdet(covariance)[1] / 2 - optimum.cost))


def _logarithms(values: Floats, host_size: int, workers: Sequence[int]) -> Floats:
    """The logarithms of rates [..., points] for values of an `_Optimum` [..., values]."""
    times = step_times(values[..., :-1], host_size, workers)
    logarithms: Floats = values[..., -1:] + np.log(workers) - np.log(times)
    return logarithms


def fit(curve: ScalingCurve, predict: Sequence[int] = ()) -> Fitted:
    """Fit a curve, and predict rates; none where the fit is `WRONG`. A curve of one point leaves the prior as it is."""
    best = max((_Optimum.find(curve, size) for size in HOST_SIZES), key=lambda each: each.evidence)
    fitted = np.exp(_logarithms(best.values, best.host_size, curve.workers))
    error = float(np.mean(np.abs(fitted / curve.rates - 1)))
    wrong = (
        f"The model can't describe these points: its rates are {100 * error:.0f} % away on average. So nothing is "
        f"predicted. In the model each further worker adds work, and loses only a small part of its time."
    )
    deviations = np.sqrt(np.diag(best.covariance))
    return Fitted(
        curve,
        {name: (float(best.values[place]), float(deviations[place])) for place, name in enumerate(PRIOR)},
        float(np.exp(best.values[-1])),
        tuple(map(float, fitted)),
        error,
        wrong if error > WRONG else "",
        tuple(_predictions(best, curve, predict)) if predict and error <= WRONG else (),
    )


def _predictions(best: _Optimum, curve: ScalingCurve, workers: Sequence[int]) -> Iterator[RatePrediction]:
    """Measured rates with their intervals, which have the errors of the fit, of the model, and of a measurement."""
    stream = np.random.default_rng(SEED)
    largest = curve.workers[-1]
    values = stream.multivariate_normal(best.values, best.covariance, DRAWS)
    values[:, :-1] = np.maximum(values[:, :-1], 0)
    draws = _logarithms(values, best.host_size, workers)
    beyond = np.maximum(np.log2(np.asarray(workers, float) / largest), 0)
    draws += NOISE * stream.standard_normal(draws.shape) + DISCREPANCY * beyond * stream.standard_normal((DRAWS, 1))
    rates = np.exp(_logarithms(best.values, best.host_size, workers))
    lows, highs = np.exp(np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0))
    for count, rate, low, high in zip(workers, rates.tolist(), lows.tolist(), highs.tolist(), strict=True):
        yield RatePrediction(count, rate, min(low, rate), max(high, rate))


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
    for row in rows:
        for name, rates in row["curves"].items():
            row["curves"][name] = ScalingCurve(tuple(rates), tuple(map(float, rates.values())))
    return {row["machine"]: PublishedMachine(**row) for row in rows}


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
