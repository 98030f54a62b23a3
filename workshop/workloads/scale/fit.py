"""Fit the model to a measured curve, and predict the rate of other numbers of workers with intervals.

The parameters get weights by importance sampling: many draws from the prior, each with its likelihood. Few points leave
parameters that the data can't tell apart; their predictions stay apart, too, and so the intervals are wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.scale.curve import MOST_WORKERS, ScalingCurve
from workshop.workloads.scale.model import HOST_SIZES, PRIOR, Floats, step_times

DRAWS = 200_000
SEED = 20171
NOISE, NOISE_SPREAD = 0.01, 0.7  # the median relative error of a point, and the spread of its logarithm
DISCREPANCY = 0.01  # relative error of the model for each doubling beyond the largest measured number of workers
LEVEL = 0.9
FAR = 1000  # times the largest measured number of workers: a prediction beyond is marked
UNKNOWN = 0.8  # share of the prior's spread that is left where the data say little of a parameter
SUBSTITUTES = -0.5  # correlation from which on two parameters can't be told apart


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
    point, the mean relative error of these, and in words what the data can't tell."""

    curve: ScalingCurve
    parameters: dict[str, tuple[float, float]]
    rate_of_one: float
    rates: tuple[float, ...]
    mean_error: float
    unclear: tuple[str, ...]
    predicted: tuple[RatePrediction, ...]


def fit(curve: ScalingCurve, predict: Sequence[int] = ()) -> Fitted:
    """Fit a curve of at least two points, and predict rates. Raises BadInput for numbers of workers that can't be."""
    for count in predict:
        if not 1 <= count <= MOST_WORKERS:
            raise BadInput(f"{count} workers can't be predicted; take 1 to {MOST_WORKERS:,}.")
    stream = np.random.default_rng(SEED)
    parameters = {name: stream.exponential(mean, DRAWS) for name, mean in PRIOR.items()}
    host_sizes = stream.choice(np.asarray(HOST_SIZES, float), DRAWS)
    noise = NOISE * np.exp(NOISE_SPREAD * stream.standard_normal(DRAWS))

    def shape(workers: Sequence[int]) -> Floats:
        """log(rate / rate of one worker) [draws, workers]."""
        return np.log(np.asarray(workers, float)) - np.log(step_times(parameters, host_sizes, workers))

    residuals = np.log(curve.rates) - shape(curve.workers)
    level = residuals.mean(axis=1)  # log of the rate of one worker, which may be anything
    points = len(curve.rates)
    squares = ((residuals - level[:, None]) ** 2).sum(axis=1)
    likelihood = -squares / (2 * noise**2) - (points - 1) * np.log(noise)
    weights = np.exp(likelihood - likelihood.max())
    weights /= weights.sum()
    chosen = stream.choice(DRAWS, DRAWS // 4, p=weights)
    parameters = {name: values[chosen] for name, values in parameters.items()}
    host_sizes, noise = host_sizes[chosen], noise[chosen]
    level = level[chosen] + noise / np.sqrt(points) * stream.standard_normal(len(chosen))
    fitted = np.exp(np.median(level[:, None] + shape(curve.workers), axis=0))
    return Fitted(
        curve,
        {name: (float(values.mean()), float(values.std())) for name, values in parameters.items()},
        float(np.exp(np.median(level))),
        tuple(map(float, fitted)),
        float(np.mean(np.abs(fitted / curve.rates - 1))),
        tuple(_unclear(parameters)),
        tuple(_predictions(curve, predict, level[:, None] + shape(predict), noise, stream)) if predict else (),
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


def _unclear(parameters: dict[str, Floats]) -> list[str]:
    """Sentences on parameters of which the data say little, or whose sum alone they know."""
    sentences = []
    spread = {name: float(values.std()) / PRIOR[name] for name, values in parameters.items()}
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
