"""The predicted step of data-parallel training: its parts, with intervals.

A step takes as long as the slowest of n ranks computes, and then as its gradients are exchanged:

    step = input + E[slowest of n draws of compute] + exchange that nothing hides + evaluation + checkpoint + rest

Compute is drawn from the measured times of all ranks, without a rank that the params make slow. Beyond the measured
times, the tail falls exponentially, as that of most distributions does (Coles, An Introduction to Statistical
Modeling of Extreme Values, 2001, chapter 4). `rest` is what the parts don't explain of the measured step.

A `Calibration` is what a machine's ranks were measured to do, part by part, with the links that follow from it.
`PacedWork` is a rank's work in a step: input, forward and backward pass, evaluation, checkpoint.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from workshop.core.errors import BadInput
from workshop.workloads.scale import BATCH, FORWARD, WORKLOAD, StepParams
from workshop.workloads.scale.exchange import (
    Algorithm,
    Network,
    NetworkLink,
    Simulation,
    exchange_seconds,
    step_seconds,
)
from workshop.workloads.scale.messages import wait_until

FREE = NetworkLink(1e-7, 1e12)  # where nothing was measured, since there is no such link
SIMULATED = 16  # ranks, up to which messages are simulated


class Calibration(BaseModel):
    """Measured seconds. `compute`: by batch size, those of each rank. `input` and `evaluation`: those of each rank.
    `messages`: by "inside" or "between" hosts and by bytes. `all_reduces`: by algorithm and bytes."""

    hosts: int = 1
    ranks: int
    per_host: int = 0
    servers: int = 1
    batch: int
    compute: Mapping[int, list[list[float]]]
    input: list[list[float]] = []
    evaluation: list[list[float]] = []
    checkpoint: list[list[float]] = []
    messages: Mapping[str, Mapping[int, list[float]]] = {}
    all_reduces: Mapping[Algorithm, Mapping[int, list[float]]] = {}

    @property
    def network(self) -> Network:
        """The links that fit the measured messages. A rank alone has none, and gets one that takes no time."""
        links = {place: fit_link(times) for place, times in self.messages.items() if times}
        between = links.get("between") or links.get("inside") or FREE
        return Network(links.get("inside") or between, between, self.per_host, shared=self.hosts > 1)

    def _all_reduce(self, algorithm: Algorithm, size: float) -> float:
        """The time of the messages of an all-reduce: simulated, or by formula for many ranks."""
        servers = min(self.servers, self.ranks)
        if self.ranks > SIMULATED:
            return exchange_seconds(algorithm, self.ranks, size, self.network, servers)
        simulation = Simulation(self.ranks, self.network, algorithm, servers)
        return float(simulation.exchange(np.zeros(self.ranks), size).max())

    def slowdown(self, algorithm: Algorithm, size: float) -> float:
        """How many times as long an all-reduce of `size` bytes takes as its messages; 1 where none was measured."""
        times = sorted(self.all_reduces.get(algorithm, {}).items())
        factors = [
            statistics.median(seconds) / max(self._all_reduce(algorithm, each), 1e-12) for each, seconds in times
        ]
        return float(np.interp(size, [each for each, _ in times], factors)) if times else 1.0

    @property
    def samples(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Compute of the batch size that steps have, by rank [ranks, repeats]."""
        ranks = self.compute.get(self.batch) or next(iter(self.compute.values()))
        shortest = min(map(len, ranks))
        return np.array([times[:shortest] for times in ranks])

    def compute_seconds(self, batch: float) -> float:
        """The median time of a batch: a line through the measured batch sizes, which begins at a fixed time."""
        sizes = np.array(sorted(self.compute), float)
        medians = np.array([statistics.median(np.concatenate(self.compute[int(size)])) for size in sizes])
        if len(sizes) == 1:
            return float(medians[0] * batch / sizes[0])
        slope, start = np.polyfit(sizes, medians, 1, w=1 / medians)
        return float(max(start + slope * batch, 1e-9))

    def mean(self, part: str) -> float:
        """The average seconds of input, evaluation or checkpoint; 0 where none was measured."""
        values = [value for rank in getattr(self, part) for value in rank]
        return statistics.fmean(values) if values else 0.0


def fit_link(times: Mapping[int, Sequence[float]]) -> NetworkLink:
    """Latency and bandwidth of messages by size, from the medians of their times: the line with the median of all
    slopes (Sen, J. Am. Stat. Assoc. 63, 1968), which a single odd size doesn't move. A latency is at least a tenth of
    the fastest message, and exactly that where there is one size."""
    medians = {size: statistics.median(seconds) for size, seconds in sorted(times.items())}
    fastest = min(medians.values())
    if len(medians) == 1:
        return NetworkLink(fastest / 10, next(iter(medians)) / (0.9 * fastest))
    pairs = combinations(medians.items(), 2)
    per_byte = statistics.median((after - before) / (larger - size) for (size, before), (larger, after) in pairs)
    latency = statistics.median(seconds - per_byte * size for size, seconds in medians.items())
    return NetworkLink(max(latency, fastest / 10), 1 / max(per_byte, 1 / FREE.bandwidth))


@dataclass(frozen=True)
class StepMeasurement:
    """A measured step: the params, the calibration of its parts, and its average seconds."""

    params: StepParams
    calibration: Calibration
    step: float

    @classmethod
    def of_run(cls, run: Mapping[str, Any], name: str) -> StepMeasurement:
        """The measurement of a run in its JSON form, with params and metrics. Raises BadInput with its name."""
        if run["workload"] != WORKLOAD.name:
            raise BadInput(
                f"{name} is no run of `{WORKLOAD.name}` or of data-parallel training that has ended; "
                "`workshop scale calibrate` makes one."
            )
        metrics = run["metrics"] or {}
        if not metrics.get("calibration"):
            raise BadInput(f"{name} has no calibration; run it with calibrate, and until it has measured its steps.")
        params = WORKLOAD.check(run["params"])
        assert isinstance(params, StepParams)
        return cls(params, Calibration(**metrics["calibration"]), metrics["seconds"]["step"])


Floats = NDArray[np.float64]
GROUPS = 4  # of the measured times, whose predictions differ by the error of sampling
DRAWS = 40  # steps
SEED = 5
MOST_RANKS = 100_000
TAIL = 0.9  # quantile from which on the tail is exponential
DEVIATIONS = 1.645  # of a normal distribution, which an interval of 90 % has on each side
MODEL_ERROR = 0.027  # relative error of the model itself, and once more for each doubling beyond the measured ranks
PARTS = ("input", "compute", "stragglers", "latency", "bandwidth", "evaluation", "checkpoint", "rest")


@dataclass(frozen=True)
class StepPrediction:
    """Average seconds of a step, the interval of 90 %, and its parts. Latency and bandwidth are the exchange that
    compute doesn't hide: by messages, and by bytes."""

    ranks: int
    seconds: float
    low: float
    high: float
    parts: Mapping[str, float]
    examples: int  # of all ranks in a step

    @property
    def rate(self) -> float:
        """Examples per second of all ranks."""
        return self.examples / self.seconds

    @property
    def limit(self) -> str:
        """The part that takes most time."""
        return max(self.parts, key=lambda name: self.parts[name])


def predict(measurement: StepMeasurement, changed: StepParams, ranks: int) -> StepPrediction:
    """Predict the step of `changed` params on so many ranks. Raises BadInput for ranks or params that can't be."""
    calibration, measured = measurement.calibration, measurement.params
    if not 1 <= ranks <= MOST_RANKS:
        raise BadInput(f"{ranks} ranks can't be predicted; take 1 to {MOST_RANKS:,}.")
    samples = calibration.samples
    rest = measurement.step - sum(_parts(calibration, measured, measured, calibration.ranks, samples).values())
    parts = _parts(calibration, measured, changed, ranks, samples) | {"rest": rest}
    total = max(sum(parts.values()), 1e-9)
    groups = [samples[:, group::GROUPS] for group in range(min(GROUPS, samples.shape[1]))]
    of_groups = [sum(_parts(calibration, measured, changed, ranks, group).values()) for group in groups]
    sampling = float(np.std(of_groups)) / max(len(groups) - 1, 1) ** 0.5
    doublings = max(float(np.log2(ranks / calibration.ranks)), 0.0)
    half = DEVIATIONS * float(np.hypot(sampling, MODEL_ERROR * (1 + doublings) * total))
    low, high = max(total - half, total / 10), total + half
    return StepPrediction(ranks, total, low, high, parts, ranks * changed.batch)


def _parts(
    calibration: Calibration, measured: StepParams, changed: StepParams, ranks: int, samples: Floats
) -> dict[str, float]:
    """The parts without the rest."""
    factor = calibration.compute_seconds(changed.batch) / calibration.compute_seconds(calibration.batch)
    factor *= changed.compute / measured.compute
    waits = {
        name: _ratio(getattr(changed, name), getattr(measured, name), calibration.mean(name))
        for name in ("input", "evaluation", "checkpoint")
    }
    every = {"evaluation": changed.evaluate_every, "checkpoint": changed.checkpoint_every}
    compute = draw_compute(samples * factor, ranks, changed, measured)
    mean, slowest = float(compute.mean()), float(compute.max(axis=1).mean())
    network = changed_network(calibration, measured, changed)
    exchange = exposed(changed, compute, network)
    latency = min(exchange, exposed(changed, compute, network.scaled(bandwidth=1e6)))
    return {
        "input": waits["input"],
        "compute": mean,
        "stragglers": slowest - mean,
        "latency": latency,
        "bandwidth": exchange - latency,
        **{name: waits[name] / every[name] if every[name] else 0.0 for name in every},
    }


def _ratio(changed: float, measured: float, seconds: float) -> float:
    return seconds * changed / measured if measured else changed / 1000


def draw_compute(samples: Floats, ranks: int, changed: StepParams, measured: StepParams) -> Floats:
    """Seconds of compute of some steps and all ranks [steps, ranks], drawn from the measured ones. The last rank is as
    much slower as the params say."""
    usual = samples[:-1] if measured.slow > 1 and len(samples) > 1 else samples
    pool = np.sort(usual.ravel())
    if changed.spread != measured.spread:
        pool = pool.mean() + (pool - pool.mean()) * (changed.spread / measured.spread if measured.spread else 0.0)
    # Stratified draws: each step has a rank with a small time and one with a large time as often as is expected.
    stream = np.random.default_rng(SEED)
    levels = (np.argsort(stream.random((DRAWS * ranks,))) + 0.5) / (DRAWS * ranks)
    compute = quantiles(pool, levels.reshape(DRAWS, ranks))
    compute[:, -1] *= changed.slow
    return compute


def quantiles(pool: Floats, levels: Floats) -> Floats:
    """Quantiles of sorted measurements, with an exponential tail above the measured ones."""
    edge = float(np.quantile(pool, TAIL))
    excess = float((pool[pool > edge] - edge).mean()) if (pool > edge).any() else 0.0
    inside = np.quantile(pool, np.minimum(levels, TAIL))
    return np.where(levels > TAIL, edge - excess * np.log(np.maximum(1 - levels, 1e-300) / (1 - TAIL)), inside)


def changed_network(calibration: Calibration, measured: StepParams, changed: StepParams) -> Network:
    """The measured network, as much slower as measured all-reduces take longer than their messages, with an emulated
    link between hosts as the params say. Real hosts stay as they are where the params emulate none."""
    network = calibration.network
    real = calibration.per_host if network.shared else 0
    network = replace(network, per_host=changed.per_host or real, shared=real > 0 and not changed.per_host)
    if changed.per_host and measured.per_host:
        latency = changed.latency / measured.latency if measured.latency else 1.0
        network = network.scaled(latency, changed.bandwidth / measured.bandwidth)
    bucket = changed.parameters * changed.number_bytes / len(changed.buckets)
    return network.slower(calibration.slowdown(changed.algorithm, bucket))


def exposed(params: StepParams, compute: Floats, network: Network) -> float:
    """The seconds of the exchange that compute doesn't hide. With overlap, a bucket is exchanged when its gradients are
    there and the exchange before it has ended (Sergeev and Del Balso, arXiv:1802.05799, section 3). Few ranks are
    simulated, and formulas have many."""
    ranks = compute.shape[1]
    if ranks == 1:
        return 0.0
    weights = [sum(params.tensor_sizes[tensor] for tensor in bucket) for bucket in params.buckets]
    sizes = [count * params.number_bytes for count in weights]
    slowest, servers = float(compute.max(axis=1).mean()), min(params.servers, ranks)
    if ranks <= SIMULATED:
        simulation = Simulation(ranks, network, params.algorithm, servers)
        return step_seconds(simulation, compute, sizes, FORWARD, params.overlap) - slowest
    share, end = FORWARD, 0.0
    for size in sizes:
        share += (1 - FORWARD) * size / sum(sizes)
        ready = share * slowest if params.overlap else slowest
        end = max(end, ready) + exchange_seconds(params.algorithm, ranks, size, network, servers)
    return max(end - slowest, 0.0)


class PacedWork:
    """Waits as long as the work would take. The times of a step's passes are drawn from a lognormal distribution."""

    def __init__(self, params: StepParams, rank: int, size: int) -> None:
        self._params = params
        self._stream = np.random.default_rng([params.seed, rank])
        self._mean = params.compute / 1000 / BATCH * (params.slow if rank == size - 1 else 1.0)
        self._sigma = np.sqrt(np.log1p(params.spread**2))
        self._gradients = [np.full(count, 1.0, np.float32) for count in params.tensor_sizes]
        self._weights = [count / params.parameters for count in params.tensor_sizes]
        self._now = 0.0  # when the work so far should end

    def read(self, batch: int) -> None:
        factor = np.exp(self._sigma * self._stream.standard_normal() - self._sigma**2 / 2)
        self._seconds = float(self._mean * batch * factor)
        self._pause(self._params.input / 1000, begin=True)

    def forward(self) -> None:
        self._pause(FORWARD * self._seconds, begin=True)

    def backward(self, tensor: int) -> NDArray[np.float32]:
        self._pause((1 - FORWARD) * self._seconds * self._weights[tensor])
        return self._gradients[tensor]

    def evaluate(self) -> None:
        self._pause(self._params.evaluation / 1000, begin=True)

    def save(self) -> None:
        self._pause(self._params.checkpoint / 1000, begin=True)

    def _pause(self, seconds: float, begin: bool = False) -> None:
        """Wait, from now or from the end of the wait before: so short waits one after the other add up exactly."""
        self._now = (time.monotonic() if begin else self._now) + seconds
        wait_until(self._now)
