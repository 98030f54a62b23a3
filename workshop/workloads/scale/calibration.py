"""A calibration: what a machine's ranks were measured to do, part by part, and the links that follow from it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from pydantic import BaseModel

from workshop.core.errors import BadInput
from workshop.workloads.scale import WORKLOAD, StepParams
from workshop.workloads.scale.exchange import Algorithm, Network, NetworkLink, Simulation, exchange_seconds

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
