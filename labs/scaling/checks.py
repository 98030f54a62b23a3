"""Checks of lab 12: Amdahl's serial share, the step on n ranks, and the error of a naive prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import call, called

CLOSE = 1e-6  # relative, or absolute near 0


def _number(name: str, function: Callable[..., Any], *arguments: Any) -> float:
    """The answer as a number. Raises Hint."""
    answer = called(name, function, *arguments)
    if isinstance(answer, np.ndarray) and answer.size == 1:
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, int | float | np.number):
        raise Hint(f"{call(name, *arguments)} is {answer!r:.60}; it should be a single number.")
    return float(answer)


def _equals(number: float, other: float) -> bool:
    return bool(np.isclose(number, other, rtol=CLOSE, atol=CLOSE * 1e-3))


def _compare(
    name: str,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    expected: float,
    wrong: Callable[..., Iterator[tuple[float, str]]],
    otherwise: str,
) -> None:
    """Raises Hint for a mistake with these arguments: `wrong` has the numbers of typical mistakes, with their hints."""
    number, text = _number(name, function, *arguments), call(name, *arguments)
    if _equals(number, expected):
        return
    start = f"{text} should be {expected:.4g}, and yours is {number:.4g}"
    for value, hint in wrong(*arguments):
        if _equals(number, value) and not _equals(value, expected):
            raise Hint(f"{start}: {hint}")
    raise Hint(f"{start}: {otherwise}")


# Exercise 1


def expected_share(ranks: Sequence[int], seconds: Sequence[float]) -> float:
    """The serial share that fits all points best."""
    inverse = 1 / np.asarray(ranks, float)
    times = np.asarray(seconds, float) / seconds[0]
    return float(((times - inverse) @ (1 - inverse)) / ((1 - inverse) @ (1 - inverse)))


@exercise(
    "serial_share",
    hint=(
        "With `x = 1 - 1 / n` and `y = seconds / seconds[0] - 1 / n`, Amdahl's law is `y = s * x`. The best s is "
        "`sum(x * y) / sum(x * x)`."
    ),
    reason=(
        "The sum of (y - s x)^2 over all points is smallest where its derivative by s is 0: sum(x y) = s sum(x x). "
        "A point with many ranks has a large x, so it counts more."
    ),
)
def serial_share(function: Callable[..., Any]) -> None:
    """First times that follow the law, then times that don't, then no serial share at all."""
    for ranks, seconds in (
        ([1, 2, 4, 8], [0.1, 0.06, 0.04, 0.03]),  # s = 0.2
        ([1, 2, 4, 8], [0.156, 0.09, 0.0591, 0.0436]),
        ([1, 3, 16], [2.0, 1.1, 0.9]),
        ([1, 2, 4], [1.0, 0.5, 0.25]),
        ([1, 4], [3.0, 3.0]),
    ):
        otherwise = "least squares of T(n) / T(1) = s + (1 - s) / n over all n."
        _compare("serial_share", function, (ranks, seconds), expected_share(ranks, seconds), _wrong_shares, otherwise)


def _wrong_shares(ranks: Sequence[int], seconds: Sequence[float]) -> Iterator[tuple[float, str]]:
    inverse = 1 / np.asarray(ranks, float)
    times = np.asarray(seconds, float) / seconds[0]
    x, y = 1 - inverse, times - inverse
    squares = float(x @ x)
    yield float(1 - (y @ x) / squares), "that is 1 - s, the share that the ranks divide; return s."
    yield (
        float(((np.asarray(seconds) - inverse) @ x) / squares),
        "divide the seconds by those of one rank first: the law is about T(n) / T(1).",
    )
    yield float(y[-1] / x[-1]), "that fits the last point alone; use all points."
    yield float(y[1] / x[1]), "that fits the second point alone; use all points."
    yield (
        float((y[1:] / x[1:]).mean()),
        "that is the mean of one s for each point. Least squares weighs points by x: sum(x * y) / sum(x * x).",
    )
    yield float(y.sum() / x.sum()), "that is sum(y) / sum(x). Least squares has sum(x * y) / sum(x * x)."
    yield float((x @ y) / (y @ y)), "the sum below the line should be sum(x * x), and yours is sum(y * y)."
    yield float(x @ y), "the division by sum(x * x) is missing."
    yield (
        float((times @ x) / squares),
        "subtract 1 / n from T(n) / T(1) before the sums: the law is T(n) / T(1) = 1 / n + s x.",
    )
    yield float((y @ x) / len(x)), "divide by sum(x * x), and not by the number of points."
    speedup = float(times[0] / times[-1])
    yield speedup, "that is the speed-up on the last number of ranks; return the serial share."
    yield speedup / ranks[-1], "that is the efficiency on the last number of ranks; return the serial share."


# Exercise 2


def expected_step(times: Sequence[float], ranks: int, size: float, latency: float, bandwidth: float) -> float:
    """The expected slowest of the ranks, and a ring behind it."""
    return _slowest(times, ranks) + 2 * (ranks - 1) * (latency + size / ranks / bandwidth)


def _slowest(times: Sequence[float], ranks: int) -> float:
    share = np.arange(len(times) + 1) / len(times)
    return float(np.sort(np.asarray(times, float)) @ np.diff(share**ranks))


UNSORTED = [0.041, 0.036, 0.052, 0.044]


@exercise(
    "step_seconds",
    hint=(
        "With `x = np.sort(times)`, `m = len(x)` and `share = np.arange(m + 1) / m`, the slowest is "
        "`x @ np.diff(share**ranks)`. Add `2 * (ranks - 1) * (latency + size / ranks / bandwidth)`."
    ),
    reason=(
        "All n draws are at most x_i with the probability (i / m)^n, so x_i is the largest with the difference to the "
        "probability of x_(i-1). A ring has 2 (n - 1) rounds, and each sends one n-th of the array."
    ),
)
def step_seconds(function: Callable[..., Any]) -> None:
    """One rank first, then equal times, then unequal times without and with a link, at last unsorted times."""
    free = (0.0, 0.0, 1e9)  # size, latency, bandwidth
    cases: tuple[tuple[Any, ...], ...] = (
        ([0.04, 0.05], 1, *free),
        ([0.04, 0.05], 1, 1e6, 0.001, 1e8),
        ([0.04, 0.04], 4, 1e6, 0.0, 1e8),
        ([0.04, 0.04], 4, 0.0, 0.001, 1e8),
        ([0.04, 0.05], 2, *free),
        ([0.03, 0.04, 0.08], 4, *free),
        (UNSORTED, 3, *free),
        (UNSORTED, 8, 1e6, 0.0005, 2e8),
        (UNSORTED, 2048, 1e6, 0.0005, 2e8),
    )
    for times, *others in cases:
        arguments = (np.array(times), *others)
        number = _number("step_seconds", function, *arguments)
        text = call("step_seconds", times, *others)
        expected = expected_step(times, *others)
        if _equals(number, expected):
            continue
        start = f"{text} should be {expected:.4g}, and yours is {number:.4g}"
        for value, hint in _wrong_steps(times, *others):
            if _equals(number, value) and not _equals(value, expected):
                raise Hint(f"{start}: {hint}")
        raise Hint(f"{start}: {_part(times, *others)}")


def _wrong_steps(
    times: Sequence[float], ranks: int, size: float, latency: float, bandwidth: float
) -> Iterator[tuple[float, str]]:
    """The steps of typical mistakes, with their hints. The exchange comes first, because the cases begin with it."""
    slowest, rounds = _slowest(times, ranks), 2 * (ranks - 1)
    share = size / ranks / bandwidth
    exchange = rounds * (latency + share)
    if ranks == 1:
        yield slowest + latency, "one rank sends no message, so its exchange takes no time."
        yield slowest + 2 * (latency + size / bandwidth), "one rank sends no message, so its exchange takes no time."
    yield slowest + rounds * (latency + size / bandwidth), "a message has one n-th of the array; divide the size by n."
    yield slowest + exchange / 2, "a ring has 2 (n - 1) rounds: n - 1 to add up, and n - 1 to hand the sums round."
    yield slowest + 2 * ranks * (latency + share), "a ring of n ranks has 2 (n - 1) rounds, and not 2 n."
    yield slowest + latency + rounds * share, "each of the 2 (n - 1) messages has the latency once."
    yield slowest + rounds * latency + share, "each of the 2 (n - 1) messages has its share of the bytes."
    yield slowest + rounds * latency + size / bandwidth, "each of the 2 (n - 1) messages has size / n bytes."
    yield slowest + rounds * (latency + size / ranks * bandwidth), "bytes divided by bytes per second give seconds."
    yield slowest, "the all-reduce is missing."
    yield exchange, "the slowest rank's compute is missing."
    values = np.sort(np.asarray(times, float))
    given = np.asarray(times, float)
    edges = np.arange(len(values) + 1) / len(values)
    weights = np.diff(edges**ranks)
    yield (
        float(values.mean()) + exchange,
        "that has the mean of the times. All ranks wait for the slowest, which is slower than the mean.",
    )
    yield (
        float(np.median(values)) + exchange,
        "that has the median of the times. All ranks wait for the slowest of them.",
    )
    yield (
        float(values.max()) + exchange,
        "that has the largest measured time. With few ranks, the slowest draw is often a smaller one.",
    )
    yield (
        float(values[::-1] @ weights) + exchange,
        "that is the fastest of n draws. Sort the times from small to large: the largest has the largest weight.",
    )
    yield float(given @ weights) + exchange, "sort the times first."
    yield float(values @ np.diff(edges)) + exchange, "raise i / m and (i - 1) / m to the power n."
    yield float(values @ np.diff(edges * ranks)) + exchange, "take i / m to the power n, and don't multiply by n."
    yield float(values @ edges[1:] ** ranks) + exchange, "subtract ((i - 1) / m)^n, so that the weights add up to 1."
    yield float(values @ edges[:-1] ** ranks) + exchange, "subtract ((i - 1) / m)^n from (i / m)^n for each i."
    yield ranks * float(values.mean()) + exchange, "the ranks compute at the same time; don't add up their times."


def _part(times: Sequence[float], ranks: int, size: float, latency: float, bandwidth: float) -> str:
    """Which part of the sum a case is about."""
    if ranks == 1:
        return "one rank has the mean of the times, and no exchange."
    if not size and not latency:
        return "the mean of the slowest of n draws is the sum of x_i ((i / m)^n - ((i - 1) / m)^n) over sorted times."
    if len(set(times)) == 1:
        return "a ring takes 2 (n - 1) times a latency and size / n / bandwidth."
    return "add the slowest of n draws and 2 (n - 1) (latency + size / n / bandwidth)."


# Exercise 3 (extra)


def expected_error(workers: Sequence[int], rates: Sequence[float]) -> float:
    """The relative error of the first rate of a worker, times the last number of workers."""
    return rates[0] / workers[0] * workers[-1] / rates[-1] - 1


@exercise(
    "naive_error",
    hint="The prediction is `rates[0] / workers[0] * workers[-1]`. The error is `prediction / rates[-1] - 1`.",
    reason=(
        "The prediction assumes an efficiency of 1, so its error is 1 / efficiency - 1. Without a first rate, neither "
        "can be computed."
    ),
)
def naive_error(function: Callable[..., Any]) -> None:
    """Curves that begin with one worker, then others, then one that scales better than it should."""
    for workers, rates in (
        ([1, 8], [50.0, 320.0]),
        ([1, 2, 4, 8], [100.0, 190.0, 360.0, 640.0]),
        ([8, 16, 64], [400.0, 700.0, 2000.0]),
        ([1, 4], [10.0, 44.0]),
    ):
        otherwise = "predict the last rate from the first rate of a worker, and divide by the measured last rate."
        _compare("naive_error", function, (workers, rates), expected_error(workers, rates), _wrong_errors, otherwise)


def _wrong_errors(workers: Sequence[int], rates: Sequence[float]) -> Iterator[tuple[float, str]]:
    predicted = rates[0] / workers[0] * workers[-1]
    unscaled = rates[0] * workers[-1]
    yield predicted, "that is the prediction; return its relative error."
    yield predicted / rates[-1], "subtract 1: an exact prediction has the error 0."
    yield rates[-1] / predicted, "that is the efficiency; return the relative error of the prediction."
    yield 1 - rates[-1] / predicted, "divide by the measured rate, and not by the predicted rate."
    yield rates[-1] / predicted - 1, "divide the prediction by the measured rate; yours is the other way round."
    if predicted < rates[-1]:  # where the sign alone is wrong, earlier cases were right
        yield (
            abs(predicted / rates[-1] - 1),
            "keep the sign: a prediction below the measured rate has an error below 0.",
        )
    yield 1 - predicted / rates[-1], "turn the sign: a prediction that is too large has an error above 0."
    yield predicted - rates[-1], "divide the difference by the measured rate."
    yield (predicted / rates[-1] - 1) * 100, "return a share, such as 0.25, and not per cent."
    yield (
        unscaled / rates[-1] - 1,
        f"the first rate is that of {workers[0]} workers; divide it by their number first.",
    )
    yield (
        rates[0] * len(workers) / rates[-1] - 1,
        "multiply by the last number of workers, and not by the number of points.",
    )
