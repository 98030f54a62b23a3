"""The memory of a rank: what a cut should need, and what the arrays that are kept add up to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workshop.workloads.parallel.cuts.recompute import Recomputed
from workshop.workloads.parallel.network.layers import (
    Attention,
    Convolution,
    Embedding,
    Gelu,
    Layer,
    LayerNorm,
    Linear,
    MeanPixels,
    Relu,
    Residual,
    Sequential,
)  # fmt: skip
from workshop.workloads.parallel.schedules import Stream

Shape = tuple[int, ...]
INDEX = 8  # bytes of a token, and of a number of NumPy's integers


@dataclass(frozen=True)
class MemoryLedger:
    """Bytes of one rank."""

    weights: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations


def activations(layers: Sequence[Layer], inputs: Shape, itemsize: int) -> tuple[int, Shape]:
    """Bytes that the layers keep of one micro-batch for the backward computation, and the shape of their outputs.
    `inputs`: the shape of the first layer's inputs."""
    kept, shape = 0, inputs
    for layer in layers:
        more, shape = _of(layer, shape, itemsize)
        kept += more
    return kept, shape


def _of(layer: Layer, shape: Shape, itemsize: int) -> tuple[int, Shape]:
    """Bytes that one layer keeps, and the shape of its outputs."""
    size = int(np.prod(shape))
    match layer:
        case Embedding():
            return size * INDEX, (*shape, layer.tokens.value.shape[1])
        case Linear():
            return size * itemsize, (*shape[:-1], layer.weight.value.shape[1])
        case Gelu():
            return 2 * size * itemsize, shape
        case Relu():
            return size, shape  # a byte says whether a number was positive
        case LayerNorm():
            return (size + size // shape[-1]) * itemsize, shape
        case Attention():
            batch, length = shape[:2]
            inner, mixed = _of(layer.inner, shape, itemsize)
            outer, outputs = _of(layer.outer, (*shape[:-1], mixed[-1] // 3), itemsize)
            scores = batch * layer.heads * length**2
            return inner + outer + (int(np.prod(mixed)) + scores) * itemsize, outputs
        case Residual():
            kept, _ = activations(layer.inside.layers, shape, itemsize)
            return kept, shape
        case Recomputed():
            _, outputs = activations(layer.inside.layers, shape, itemsize)
            return size * (INDEX if isinstance(layer.inside.layers[0], Embedding) else itemsize), outputs
        case Convolution():
            batch, height, width, channels = shape
            rows = height if layer.halo else height + 2
            kept = batch * rows * (width + 2) * channels * itemsize
            return kept, (batch, rows - 2, width, layer.weight.value.shape[3])
        case MeanPixels():
            return 0, (shape[0], shape[3])
    raise TypeError(f"The memory of {type(layer).__name__} is not known.")


def in_flight(stream: Stream) -> Mapping[int, int]:
    """The most micro-batches whose activations a stage keeps at once, for each of its parts."""
    now, most = dict[int, int](), dict[int, int]()
    for instruction in stream:
        if instruction.kind not in ("forward", "backward"):
            continue
        change = (instruction.kind == "forward") - (instruction.kind == "backward")
        now[instruction.part] = now.get(instruction.part, 0) + change
        most[instruction.part] = max(most.get(instruction.part, 0), now[instruction.part])
    return most


def planned(
    parts: Mapping[int, Sequential],
    shapes: Mapping[int, Shape],
    itemsize: int,
    stream: Stream,
    *,
    states: int,
    zero: int = 0,
    ranks: int = 1,
) -> MemoryLedger:
    """What a rank needs. `shapes`: of the inputs of its parts; `states`: arrays of the optimizer for each weight; ZeRO
    divides them among `ranks`: the states from stage 1 on, the gradients from stage 2 on, the weights in stage 3."""
    count = sum(parameter.gradient.size for part in parts.values() for parameter in part.parameters)
    share = -(-count // ranks)

    def divided(stage: int) -> int:
        return (share if zero >= stage else count) * itemsize

    most = in_flight(stream)
    kept = sum(
        most.get(number, 0) * activations(part.layers, shapes[number], itemsize)[0] for number, part in parts.items()
    )
    return MemoryLedger(divided(3), divided(2), states * divided(1), kept)


def counted(saved: Any) -> int:
    """Bytes of all arrays in what layers have saved, each buffer once."""
    return sum(_buffers(saved).values())


def _buffers(saved: Any) -> dict[int, int]:
    buffers: dict[int, int] = {}
    for array in _arrays(saved):
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        buffers[id(owner)] = owner.nbytes
    return buffers


def _arrays(saved: Any) -> Iterator[np.ndarray]:
    if isinstance(saved, np.ndarray):
        yield saved
    elif isinstance(saved, list | tuple):
        for each in saved:
            yield from _arrays(each)
