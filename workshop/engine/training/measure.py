"""Measures from the clock of every step: phases, the last rank, images per second. Pure functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Moments of a step on one rank, in seconds since the epoch.
BEGIN, INPUT, GRADIENTS, EXCHANGED, UPDATED = range(5)
Marks = NDArray[np.float64]  # [..., steps, 5]


@dataclass(frozen=True)
class Phases:
    """Seconds of each rank in each step; every array is float64 [ranks, steps].

    An exchange ends when the last rank arrives. The shortest time of a rank in it counts as moving data, and the
    other ranks' time beyond that as waiting. So hosts need no common clock.
    """

    input: NDArray[np.float64]
    compute: NDArray[np.float64]  # forward, backward and update
    communicate: NDArray[np.float64]
    wait: NDArray[np.float64]
    last: NDArray[np.int64]  # [steps]: the rank that came last
    late: NDArray[np.float64]  # [steps]: by how many seconds, against the next but last


def phases(marks: Marks) -> Phases:
    """The phases of steps from the marks of all ranks, float64 [ranks, steps, 5]."""
    in_exchange = np.maximum(marks[..., EXCHANGED] - marks[..., GRADIENTS], 0)
    least = in_exchange.min(axis=0)
    ordered = np.sort(in_exchange, axis=0)
    late = ordered[1] - ordered[0] if len(marks) > 1 else np.zeros(marks.shape[1])
    return Phases(
        input=marks[..., INPUT] - marks[..., BEGIN],
        compute=marks[..., GRADIENTS] - marks[..., INPUT] + marks[..., UPDATED] - marks[..., EXCHANGED],
        communicate=np.broadcast_to(least, in_exchange.shape),
        wait=in_exchange - least,
        last=in_exchange.argmin(axis=0),
        late=late,
    )


def step_seconds(marks: Marks) -> NDArray[np.float64]:
    """How long each rank took for each step, [ranks, steps]."""
    return marks[..., UPDATED] - marks[..., BEGIN]


def hidden(marks: Marks, transfers: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    """The share of the ranks' transfers [(begin, end) in seconds since the epoch, by rank] during which the rank still
    computed gradients. `marks` are [ranks, steps, 5]. None without transfers."""
    total, overlapped = 0.0, 0.0
    for steps, moved in zip(marks, transfers, strict=True):
        for begin, end in moved:
            total += end - begin
            overlap = np.minimum(steps[:, GRADIENTS], end) - np.maximum(steps[:, INPUT], begin)
            overlapped += float(np.maximum(overlap, 0).sum())
    return overlapped / total if total > 0 else None


@dataclass(frozen=True)
class Speed:
    """Examples per second: total examples / total time, ± standard deviation of the steps' speeds / sqrt(steps), and
    jitter, 1.4826 times their median absolute deviation (the definitions of TensorFlow's tf_cnn_benchmarks)."""

    mean: float
    deviation: float
    jitter: float


def speed(examples: NDArray[np.float64], seconds: NDArray[np.float64], total_seconds: float) -> Speed | None:
    """The speed of steps that read `examples` [steps] in `seconds` [steps] each. `total_seconds` include the time
    between steps. None where nothing was measured."""
    if len(examples) == 0 or total_seconds <= 0 or (seconds <= 0).any():
        return None
    speeds = examples / seconds
    deviations = np.abs(speeds - np.median(speeds))
    return Speed(
        float(examples.sum() / total_seconds),
        float(speeds.std() / np.sqrt(len(speeds))),
        float(1.4826 * np.median(deviations)),
    )
