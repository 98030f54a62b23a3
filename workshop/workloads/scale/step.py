"""The predicted step of data-parallel training: its parts, with intervals.

A step takes as long as the slowest of n ranks computes, and then as its gradients are exchanged:

    step = input + E[slowest of n draws of compute] + exchange that nothing hides + evaluation + checkpoint + rest

Compute is drawn from the measured times of all ranks, without a rank that the params make slow. Beyond the measured
times, the tail falls exponentially, as that of most distributions does (Coles, An Introduction to Statistical
Modeling of Extreme Values, 2001, chapter 4). `rest` is what the parts don't explain of the measured step.

The work of a rank in a step besides the exchange: input, forward and backward pass, evaluation, checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.workloads.scale import BATCH, FORWARD, StepParams
from workshop.workloads.scale.calibration import SIMULATED, Calibration, StepMeasurement
from workshop.workloads.scale.exchange import Network, Simulation, exchange_seconds, step_seconds
from workshop.workloads.scale.messages import wait_until

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
