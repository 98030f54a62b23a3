"""The time of whole trainings on many devices: data-parallel copies of a network that is cut where it must be.

Devices and links are assumptions, and the scatter of compute is that of the calibration. A network's state takes 16
bytes for each parameter (Rajbhandari et al., arXiv:1910.02054, section 3.1). Where it doesn't fit on a device, the
tensor ranks of a host divide the network, and then the stages of a pipeline. The copies divide the examples of a step,
and add up gradients in a ring while the backward pass computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from workshop.core.errors import BadInput
from workshop.workloads.scale import FORWARD
from workshop.workloads.scale.calibration import Calibration
from workshop.workloads.scale.exchange import Network, NetworkLink, exchange_seconds, pipeline_seconds, tensor_seconds
from workshop.workloads.scale.step import DRAWS, MODEL_ERROR, SEED, quantiles

INSIDE, BETWEEN = NetworkLink(5e-6, 250e9), NetworkLink(5e-6, 25e9)  # of eight devices in a host, each with a link
PER_HOST = 8
MEMORY = 48e9  # bytes of a device of 80 GB for the state; activations have the rest
STATE, HALF = 16, 2  # bytes of a parameter, and of a number of 16 bits
WATTS = 400  # of a device with its share of the host
NORMAL = 1.645  # standard deviations of an interval of 90 %
DEVICES = tuple(4**power for power in range(7))


@dataclass(frozen=True)
class TrainingPreset:
    """A training: `device` says which one takes `example_seconds` for an example. `layers`, `width` and `tokens` are
    those of a transformer."""

    name: str
    title: str
    source: str
    device: str
    parameters: float
    example_seconds: float
    examples: float
    global_batch: int
    layers: int = 0
    width: int = 0
    tokens: int = 0

    @property
    def cut(self) -> tuple[int, int]:
        """Tensor ranks and stages on which the state fits."""
        parts = 1 << max(int(np.ceil(np.log2(STATE * self.parameters / MEMORY))), 0)
        return min(parts, PER_HOST), max(parts // PER_HOST, 1)


@dataclass(frozen=True)
class TrainingTime:
    """The predicted time [s] of a training, with an interval of 90 %."""

    devices: int
    copies: int
    seconds: float
    low: float
    high: float

    @property
    def device_hours(self) -> float:
        return self.devices * self.seconds / 3600

    @property
    def energy(self) -> float:
        """Kilowatt hours."""
        return self.device_hours * WATTS / 1000


@cache
def trainings() -> dict[str, TrainingPreset]:
    """All presets by name."""
    text = files("workshop.workloads.scale").joinpath("trainings.yaml").read_text("utf-8")
    return {row["name"]: TrainingPreset(**_complete(row)) for row in yaml.safe_load(text)}


def _complete(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a preset; a transformer's time and number of texts follow from its parameters."""
    numbers = {}
    if "tokens" in row:
        numbers["example_seconds"] = 6 * row["parameters"] * row["tokens"] / row["operations"]
        numbers["examples"] = 20 * row["parameters"] / row["tokens"]
    return {name: value for name, value in row.items() if name != "operations"} | numbers


def training(name: str) -> TrainingPreset:
    """The preset of that name. Raises BadInput for another name."""
    if name not in trainings():
        raise BadInput(f"There is no training {name!r:.40}; there are {', '.join(trainings())}.")
    return trainings()[name]


def training_times(preset: TrainingPreset, calibration: Calibration, slower: float = 1.0) -> list[TrainingTime]:
    """The training on the fewest devices that can have it, and on more."""
    tensor, stages = preset.cut
    fewest = tensor * stages
    counts = [fewest, *(count for count in DEVICES if fewest < count <= fewest * preset.global_batch)]
    return [training_time(preset, calibration, count, slower) for count in counts]


def training_time(preset: TrainingPreset, calibration: Calibration, devices: int, slower: float = 1.0) -> TrainingTime:
    """Predict a training on so many devices whose links between hosts are `slower` times. Raises BadInput for devices
    that can't hold the network, or can't divide a step."""
    tensor, stages = preset.cut
    copies = devices // (tensor * stages)
    if not copies or devices % (tensor * stages) or copies > preset.global_batch:
        fewest = tensor * stages
        raise BadInput(
            f"{preset.title} can't use {devices:,} devices: take a multiple of {fewest} up to "
            f"{fewest * preset.global_batch:,}, since a step has {preset.global_batch:,} examples."
        )
    between = NetworkLink(BETWEEN.latency, BETWEEN.bandwidth / slower)
    examples = preset.global_batch / copies
    size = HALF * preset.width * preset.tokens
    compute = examples * preset.example_seconds
    if tensor > 1:
        compute = examples * tensor_seconds(
            tensor, preset.layers, preset.example_seconds, size, Network(INSIDE, INSIDE)
        )
    if stages > 1:
        compute = pipeline_seconds(stages, max(round(examples), 1), compute, size, between)
    gradients = HALF * preset.parameters / (tensor * stages)
    exchange = exchange_seconds("ring", copies, gradients, Network(between, between))
    step = compute * _slowest(calibration, devices) + max(exchange - (1 - FORWARD) * compute, 0.0)
    seconds = step * preset.examples / preset.global_batch
    error = NORMAL * MODEL_ERROR * (1 + max(float(np.log2(devices / calibration.ranks)), 0.0))
    return TrainingTime(devices, copies, seconds, seconds * max(1 - error, 0.1), seconds * (1 + error))


def _slowest(calibration: Calibration, devices: int) -> float:
    """The time of the slowest of the devices over the mean, by the measured scatter within each rank."""
    samples = calibration.samples
    pool = np.sort((samples / samples.mean(axis=1, keepdims=True)).ravel())
    levels = np.random.default_rng(SEED).random((DRAWS, devices))
    draws = quantiles(pool, levels)
    return float(draws.max(axis=1).mean() / draws.mean())
