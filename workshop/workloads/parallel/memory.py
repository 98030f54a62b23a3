"""The memory of a rank by use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from workshop.workloads.parallel.schedules import Stream, splits


@dataclass(frozen=True)
class MemoryLedger:
    """Bytes of one rank. `buffers`: the largest array that an exchange takes, or that a layer needs only while it
    computes."""

    weights: int
    gradients: int
    optimizer: int
    activations: int
    buffers: int = 0

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations + self.buffers

    def as_json(self) -> dict[str, int]:
        return asdict(self)


def most_kept(stream: Stream, activations: Mapping[int, int]) -> int:
    """The most bytes of activations that a stage keeps at once. `activations`: of one micro-batch, by part. They are
    kept until the last instruction that needs them."""
    last = "weights" if splits([stream]) else "backward"
    now = most = 0
    for instruction in stream:
        if instruction.kind in ("forward", last):
            now += activations[instruction.part] * (1 if instruction.kind == "forward" else -1)
            most = max(most, now)
    return most
