"""The networks: a transformer on characters, a multi-layer perceptron, and a small convolutional network. A network is
a list of layers that can be divided into stages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.experts import Experts
from workshop.workloads.parallel.network.layers import (
    Attention,
    Convolution,
    Draw,
    Embedding,
    Gelu,
    Layer,
    LayerNorm,
    Linear,
    MeanPixels,
    Relu,
    Residual,
    Sequential,
    TiedLinear,
)  # fmt: skip

WIDER = 4  # how many times as wide the inner layer of a feed-forward network is (Vaswani et al.)


@dataclass(frozen=True)
class TransformerShape:
    """The sizes of a decoder-only transformer (Radford et al., GPT-2, 2019: normalisation before each part)."""

    vocabulary: int
    length: int  # characters of a text
    width: int
    heads: int
    blocks: int
    experts: int = 0  # in place of each feed-forward part; 0: none
    capacity: float = 1.0  # the share of a rank's tokens that an expert takes
    tied: bool = False  # whether the scores use the table of the embedding


def transformer(shape: TransformerShape, draw: Draw) -> list[Layer]:
    """An embedding, blocks of attention and feed-forward, and a head that gives a score to each character."""
    width, layers = shape.width, list[Layer]()
    tokens = draw.normal("embedding.tokens", (shape.vocabulary, width), 0.02)
    positions = draw.normal("embedding.positions", (shape.length, width), 0.02)
    layers.append(Embedding(tokens, positions))
    for number in range(shape.blocks):
        name = f"block{number}"
        attention = Attention(
            linear(draw, f"{name}.attention.inner", width, 3 * width),
            linear(draw, f"{name}.attention.outer", width, width, shape.blocks),
            shape.heads,
        )
        layers.append(Residual(norm(draw, f"{name}.attention.norm", width), attention))
        parts: list[Layer] = [
            Sequential(_feed_forward(draw, f"{name}.expert{number}", shape)) for number in range(shape.experts)
        ]
        if shape.experts:
            router = linear(draw, f"{name}.router", width, shape.experts)
            parts = [Experts(router, parts, shape.experts, shape.capacity, CountingCommunicator())]
        else:
            parts = _feed_forward(draw, f"{name}.forward", shape)
        layers.append(Residual(norm(draw, f"{name}.forward.norm", width), *parts))
    head = TiedLinear(tokens) if shape.tied else linear(draw, "head.linear", width, shape.vocabulary)
    return [*layers, norm(draw, "head.norm", width), head]


def _feed_forward(draw: Draw, name: str, shape: TransformerShape) -> list[Layer]:
    inner = linear(draw, f"{name}.inner", shape.width, WIDER * shape.width)
    return [inner, Gelu(), linear(draw, f"{name}.outer", WIDER * shape.width, shape.width, shape.blocks)]


def perceptron(widths: Sequence[int], draw: Draw) -> list[Layer]:
    """Linear layers with a ReLU between two of them."""
    layers: list[Layer] = []
    for number, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        layers += [*([Relu()] if number else []), linear(draw, f"layer{number}", inputs, outputs)]
    return layers


def convolutional(channels: Sequence[int], classes: int, draw: Draw) -> list[Layer]:
    """Convolutions with a ReLU each, the mean over all pixels, and a linear layer."""
    layers: list[Layer] = []
    for number, (inputs, outputs) in enumerate(itertools.pairwise(channels)):
        name, scale = f"convolution{number}", math.sqrt(2 / (9 * inputs))
        weight = draw.normal(f"{name}.weight", (3, 3, inputs, outputs), scale)
        layers += [Convolution(weight, draw.constant(f"{name}.bias", (outputs,))), Relu()]
    return [*layers, MeanPixels(), linear(draw, "head.linear", channels[-1], classes)]


def linear(draw: Draw, name: str, inputs: int, outputs: int, blocks: int = 0) -> Linear:
    """A linear layer. With `blocks`, layers that end a residual part are scaled down by the root of their number
    (Radford et al. 2019, section 2.3)."""
    scale = math.sqrt(1 / inputs) / (math.sqrt(2 * blocks) if blocks else 1)
    weight = draw.normal(f"{name}.weight", (inputs, outputs), scale)
    return Linear(weight, draw.constant(f"{name}.bias", (outputs,)))


def norm(draw: Draw, name: str, width: int) -> LayerNorm:
    return LayerNorm(draw.constant(f"{name}.gain", (width,), 1.0), draw.constant(f"{name}.bias", (width,)))
