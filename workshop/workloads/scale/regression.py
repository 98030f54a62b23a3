"""Fit a model to a measured curve, and predict the rate of other numbers of workers with intervals.

The parameters get weights by importance sampling: many draws from the prior, each with its likelihood. Few points leave
parameters that the data can't tell apart; their predictions stay apart, too, and so the intervals are wide.

The model is the time of a step on n workers, relative to one worker. Each worker computes its batch, and then all wait
for the slowest worker and exchange their gradients:

    t(n) / t(1) = 1 + bandwidth (n - 1) / n + latency log2(n) + stragglers z(n) + contention (n - 1) + hosts [n > h]

`bandwidth`: a ring moves 2 (n - 1) / n of the gradients' bytes (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69,
2009). `latency`: a tree takes log2(n) messages (Thakur et al., Int. J. High Perform. Comput. Appl. 19, 2005).
`stragglers`: the slowest of n normal times lies z(n) standard deviations above the mean (Blom 1958). `contention`: work
that workers do one after the other, as in Amdahl's law, or a server that serves all of them. `hosts`: the exchange
leaves a host of h workers. All parameters are 0 or more.

Where a curve says more of its points, bytes relative to the first point multiply `bandwidth`, and the batch multiplies
the work of a worker and its stragglers. With the name of an algorithm, n - 1 messages of a ring take the place of
log2(n), and log2(n) times all bytes those of a tree, as in `exchange`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.workloads.scale.exchange import ALGORITHMS

Floats = NDArray[np.float64]

NEEDED = ("workers", "rate")
OTHERS = ("bytes", "batch", "algorithm")  # columns that describe a point
LARGEST = 1 << 20  # bytes of a file
MOST_WORKERS = 10_000_000
MOST_POINTS = 100

# The mean of each parameter before any data; `_Draws` says which distribution it has. These are an assumption: of
# the values that `published.learn` tries, they predict the published curves best.
PRIOR: Mapping[str, float] = {
    "bandwidth": 0.02,
    "latency": 0.005,
    "stragglers": 0.015,
    "contention": 0.0003,
    "hosts": 0.03,
}
HOST_SIZES = (1, 2, 4, 8, 16)  # workers of a host: each is as probable as the others

DRAWS = 50_000
SEED = 20171
NOISE, NOISE_SPREAD = 0.01, 0.7  # the median relative error of a point, and the spread of its logarithm
DISCREPANCY = 0.028  # relative error of the model for each doubling beyond the largest measured number of workers
LEVEL = 0.9
MOST_PREDICTIONS = 100
FAR = 1000  # times the largest measured number of workers: a prediction beyond is marked
WRONG = 0.15  # mean relative error of a fit from which on the model doesn't describe the points
UNKNOWN = 0.8  # share of the prior's spread that is left where the data say little of a parameter
SUBSTITUTES = -0.5  # correlation from which on two parameters can't be told apart


@dataclass(frozen=True)
class ScalingCurve:
    """Measured rates [examples/s of all workers together] by number of workers, which never fall; a number comes as
    often as it was measured. Where they are known: the `bytes` of the gradients and the `batch` of each worker,
    relative to the first point, and the `algorithm` of the all-reduce, by point."""

    workers: tuple[int, ...]
    rates: tuple[float, ...]
    bytes: tuple[float, ...] = ()
    batch: tuple[float, ...] = ()
    algorithm: tuple[str, ...] = ()

    def setting(self, workers: Sequence[int]) -> ScalingCurve:
        """Other numbers of workers with the bytes, batch and algorithm of the last point; without rates."""
        values = {name: getattr(self, name)[-1:] * len(workers) for name in OTHERS}
        return ScalingCurve(tuple(workers), (), **values)


def read_curve(text: str, file: str) -> ScalingCurve:
    """The curve of a CSV file with the columns workers and rate, and any of `OTHERS`. Raises BadInput with the name of
    the file and the line."""
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        lines = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadInput(f"{file}, line {rows.line_num}: this is no CSV ({error}).") from None
    if not lines:
        raise BadInput(f"{file} is empty; it should have the columns workers and rate.")
    headings = [heading.lower() for heading in lines[0][1]]
    for needed in NEEDED:
        if headings.count(needed) != 1:
            raise BadInput(
                f"{file}, line {lines[0][0]}: the first line should name the columns workers and rate once each."
            )
    if unknown := [heading for heading in headings if heading not in (*NEEDED, *OTHERS)]:
        raise BadInput(f"{file} has the column {unknown[0]!r:.40}; there are {', '.join((*NEEDED, *OTHERS))}.")
    workers, rates = [], []
    others: dict[str, list[Any]] = {name: [] for name in OTHERS if name in headings}
    for number, cells in lines[1:]:
        if len(cells) != len(headings):
            raise BadInput(f"{file}, line {number}: there are {len(cells)} values for {len(headings)} columns.")
        row = dict(zip(headings, cells, strict=True))
        workers.append(int(_number(row["workers"], f"{file}, line {number}: workers", integer=True)))
        rates.append(_number(row["rate"], f"{file}, line {number}: rate"))
        for name, values in others.items():
            where = f"{file}, line {number}: {name}"
            values.append(row[name].lower() if name == "algorithm" else _number(row[name], where))
    if len(workers) > MOST_POINTS:
        raise BadInput(f"{file} has {len(workers)} points; a curve has at most {MOST_POINTS}.")
    if len(set(workers)) < 2:
        raise BadInput(f"{file} has {words.count(len(set(workers)), 'number')} of workers; a fit takes at least two.")
    order = sorted(range(len(workers)), key=workers.__getitem__)
    workers, rates, others = (
        [workers[place] for place in order],
        [rates[place] for place in order],
        {name: [values[place] for place in order] for name, values in others.items()},
    )
    for name in ("bytes", "batch"):
        if name in others:
            others[name] = [value / others[name][0] for value in others[name]]
    return ScalingCurve(tuple(workers), tuple(rates), **{name: tuple(values) for name, values in others.items()})


def _number(text: str, where: str, integer: bool = False) -> float:
    """A finite number above 0. Raises BadInput."""
    try:
        value = int(text) if integer else float(text)
    except ValueError:
        value = math.nan
    if not (0 < value < (MOST_WORKERS if integer else math.inf)):
        kind = f"whole number from 1 to {MOST_WORKERS:,}" if integer else "finite number above 0"
        raise BadInput(f"{where} is {text!r:.40}; it should be a {kind}.")
    return value


def slowest(workers: Floats) -> Floats:
    """The expected largest of n standard normal numbers (Blom 1958): z(n), 0 for one worker."""
    return np.where(workers > 1, ndtri((workers - 0.375) / (workers + 0.25)), 0.0)


def terms(curve: ScalingCurve) -> dict[str, Floats]:
    """The factors of the parameters [points], except for `hosts`."""
    count = np.asarray(curve.workers, float)
    doublings = np.log2(count)
    algorithms = curve.algorithm or ("",) * len(count)
    # The bytes that a rank moves, and the messages that it waits for, in halves of those of a ring and of a tree.
    moves = {"recursive-doubling": doublings / 2, "tree": doublings, "servers": count - 1}
    waits = {"ring": count - 1, "recursive-doubling": doublings / 2, "servers": np.minimum(count - 1, 1.0)}
    share = (count - 1) / count

    def by_algorithm(factors: Mapping[str, Floats], usual: Floats) -> Floats:
        return np.array([factors.get(name, usual)[point] for point, name in enumerate(algorithms)])

    return {
        "bandwidth": by_algorithm(moves, share) * np.asarray(curve.bytes or 1.0),
        "latency": by_algorithm(waits, doublings),
        "stragglers": slowest(count) * np.asarray(curve.batch or 1.0),
        "contention": count - 1,
    }


def step_times(parameters: Mapping[str, Floats], host_sizes: Floats, curve: ScalingCurve) -> Floats:
    """t(n) / t(1) [draws, points] for draws of the parameters [draws]."""
    shared = sum(parameters[name][:, None] * term for name, term in terms(curve).items())
    leaves = np.asarray(curve.workers, float) > host_sizes[:, None]
    result: Floats = np.asarray(curve.batch or 1.0) + shared + parameters["hosts"][:, None] * leaves
    return result


@dataclass(frozen=True)
class RatePrediction:
    """The predicted rate of all workers together, the interval that holds it with a probability of 90 %, and whether it
    is `far` beyond the measured numbers of workers."""

    workers: int
    rate: float
    low: float
    high: float
    far: bool


@dataclass(frozen=True)
class Fitted:
    """A fit: mean and standard deviation of each parameter, the rate of one worker, the fitted rate of each measured
    point, the mean relative error of these, and in words what the data can't tell. Nothing is predicted where the model
    doesn't describe the points."""

    curve: ScalingCurve
    parameters: dict[str, tuple[float, float]]
    rate_of_one: float
    rates: tuple[float, ...]
    mean_error: float
    unclear: tuple[str, ...]
    predicted: tuple[RatePrediction, ...]


@dataclass(frozen=True)
class _Draws:
    """Draws from the prior: the parameters, the workers of a host, and the relative error of a point."""

    parameters: dict[str, Floats]
    host_sizes: Floats
    noise: Floats

    @classmethod
    def from_prior(cls, prior: Mapping[str, float], count: int, stream: np.random.Generator) -> _Draws:
        # Most machines lose next to nothing by a cause, and some lose much: the square of an exponential number has
        # many small values, a long tail, and the mean 2.
        parameters = {name: mean * stream.standard_exponential(count) ** 2 / 2 for name, mean in prior.items()}
        host_sizes = stream.choice(np.asarray(HOST_SIZES, float), count)
        return cls(parameters, host_sizes, NOISE * np.exp(NOISE_SPREAD * stream.standard_normal(count)))

    def shape(self, curve: ScalingCurve) -> Floats:
        """log(rate / rate of one worker with the batch of the first point) [draws, points]."""
        work = np.asarray(curve.workers, float) * np.asarray(curve.batch or 1.0)
        return np.log(work) - np.log(step_times(self.parameters, self.host_sizes, curve))

    def chosen(self, places: NDArray[np.int64]) -> _Draws:
        parameters = {name: values[places] for name, values in self.parameters.items()}
        return _Draws(parameters, self.host_sizes[places], self.noise[places])

    def likelihood(self, curve: ScalingCurve) -> tuple[Floats, Floats]:
        """The logarithm of each draw's likelihood, and of the rate of one worker that fits it best. That rate may be
        anything, so that a curve of one point says nothing."""
        residuals = np.log(curve.rates) - self.shape(curve)
        level = residuals.mean(axis=1)
        squares = ((residuals - level[:, None]) ** 2).sum(axis=1)
        return -squares / (2 * self.noise**2) - (len(curve.rates) - 1) * np.log(self.noise), level


def fit(
    curve: ScalingCurve, predict: Sequence[int] = (), prior: Mapping[str, float] = PRIOR, draw_count: int = DRAWS
) -> Fitted:
    """Fit a curve, and predict rates, or none where the fit is `WRONG`. A curve of one point leaves the prior as it is.
    Raises BadInput for numbers of workers that can't be."""
    if len(predict) > MOST_PREDICTIONS:
        raise BadInput(f"{len(predict)} numbers of workers are too many to predict; take at most {MOST_PREDICTIONS}.")
    for count in predict:
        if not 1 <= count <= MOST_WORKERS:
            raise BadInput(f"{count} workers can't be predicted; take 1 to {MOST_WORKERS:,}.")
    stream = np.random.default_rng(SEED)
    draws = _Draws.from_prior(prior, draw_count, stream)
    likelihood, level = draws.likelihood(curve)
    weights = np.exp(likelihood - likelihood.max())
    weights /= weights.sum()
    chosen = stream.choice(draw_count, draw_count // 4, p=weights)
    draws, noise = draws.chosen(chosen), draws.noise[chosen]
    level = level[chosen] + noise / np.sqrt(len(curve.rates)) * stream.standard_normal(len(chosen))
    logs = level[:, None] + draws.shape(curve.setting(predict)) if predict else level
    fitted = np.exp(np.median(level[:, None] + draws.shape(curve), axis=0))
    error = float(np.mean(np.abs(fitted / curve.rates - 1)))
    wrong = (
        f"The model can't describe these points: its rates are {100 * error:.0f} % away on average. So nothing is "
        f"predicted. In the model each further worker adds work, and loses only a small part of its time.",
    )
    return Fitted(
        curve,
        {name: (float(values.mean()), float(values.std())) for name, values in draws.parameters.items()},
        float(np.exp(np.median(level))),
        tuple(map(float, fitted)),
        error,
        wrong if error > WRONG else (*_unclear(draws.parameters, prior), *_unknown(curve)),
        tuple(_predictions(curve, predict, logs, noise, stream)) if predict and error <= WRONG else (),
    )


def _predictions(
    curve: ScalingCurve, workers: Sequence[int], logs: Floats, noise: Floats, stream: np.random.Generator
) -> list[RatePrediction]:
    """Medians and intervals of a measured rate: of the model, its discrepancy, and the noise of a measurement."""
    largest = curve.workers[-1]
    beyond = np.maximum(np.log2(np.asarray(workers, float) / largest), 0)
    draws = logs + noise[:, None] * stream.standard_normal(logs.shape)
    draws += DISCREPANCY * beyond * stream.standard_normal((len(logs), 1))
    edges = np.quantile(draws, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2], axis=0)
    low, middle, high = np.exp(edges)
    return [
        RatePrediction(count, float(middle[place]), float(low[place]), float(high[place]), count > FAR * largest)
        for place, count in enumerate(workers)
    ]


def _unclear(parameters: dict[str, Floats], prior: Mapping[str, float]) -> list[str]:
    """Sentences on parameters of which the data say little, or whose sum alone they know."""
    sentences = []
    spread = {name: float(values.std()) / prior[name] for name, values in parameters.items()}
    little = [name for name, share in spread.items() if share > UNKNOWN]
    if little:
        sentences.append(f"The points say little about {', '.join(little)}: mostly assumptions decide there.")
    names = [name for name in parameters if name not in little]
    matrix = np.corrcoef([parameters[name] for name in names]) if len(names) > 1 else np.eye(1)
    sentences += [
        f"The points can't tell {first} from {second}: less of one and more of the other would fit, too."
        for number, first in enumerate(names)
        for other, second in enumerate(names[:number])
        if matrix[number, other] < SUBSTITUTES
    ]
    return sentences


def _unknown(curve: ScalingCurve) -> list[str]:
    """Sentences on algorithms that the model doesn't know."""
    names = dict.fromkeys(name for name in curve.algorithm if name not in ALGORITHMS)
    return [f"The model doesn't know the algorithm {name!r:.40}: it counts as an unnamed one." for name in names]
