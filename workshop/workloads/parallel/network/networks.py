"""The networks: a transformer on characters, a multi-layer perceptron, and a small convolutional network. A network is
a list of layers that can be divided into stages.

Experts: a feed-forward layer of which every rank has some (Shazeer et al., arXiv:1701.06538; Fedus et al., Switch
Transformers, arXiv:2101.03961).

A router sends each token to one expert. Tokens travel to the ranks of their experts and back with an all-to-all. An
expert takes at most `capacity` tokens of each rank; others pass unchanged, and are counted as dropped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges
from workshop.workloads.parallel.network.layers import (
    INDEX,
    Array,
    Attention,
    Convolution,
    Cost,
    Draw,
    Embedding,
    Gelu,
    Layer,
    LayerNorm,
    Linear,
    MeanPixels,
    Relu,
    Residual,
    Saved,
    Sequential,
    Shape,
    TiedLinear,
    softmax,
)  # fmt: skip  # fmt: skip

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


class Experts(Layer):
    """Routes tokens [batch, length, width] to `experts` on all ranks; `local` are this rank's experts, or all of them
    when a network is built. `capacity`: the share of a rank's tokens that one expert takes, from 0 to 1."""

    def __init__(
        self, router: Linear, local: Sequence[Layer], experts: int, capacity: float, comm: CountingCommunicator
    ) -> None:
        self.router, self.local, self.experts, self.capacity, self.comm = router, local, experts, capacity, comm
        self.dropped = 0  # tokens so far

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        tokens = inputs.reshape(-1, inputs.shape[-1])
        scores, router_saved = self.router.forward(tokens)
        gates = softmax(scores)
        chosen, places_of_each = gates.argmax(axis=1), self._places_of_each(len(tokens))
        places, routed = self._places(chosen, places_of_each)
        self.dropped += len(tokens) - len(routed)
        sent = np.zeros((self.experts, places_of_each, tokens.shape[1]), tokens.dtype)
        sent[chosen[routed], places[routed]] = tokens[routed]
        arrived = self._to_experts(sent)
        results, expert_saved = [], []
        for layer, block in zip(self.local, arrived, strict=True):
            result, saved = layer.forward(block)
            results.append(result)
            expert_saved.append(saved)
        returned = self._from_experts(np.stack(results))
        outputs = np.zeros_like(tokens)
        weight = gates[routed, chosen[routed]][:, None]
        outputs[routed] = weight * returned[chosen[routed], places[routed]]
        return outputs.reshape(inputs.shape), (router_saved, gates, chosen, places, routed, returned, expert_saved)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        router_saved, gates, chosen, places, routed, returned, expert_saved = saved
        flat = gradient.reshape(-1, gradient.shape[-1])
        back = returned[chosen[routed], places[routed]]
        of_returned = np.zeros_like(returned)
        of_returned[chosen[routed], places[routed]] = gates[routed, chosen[routed]][:, None] * flat[routed]
        arrived = self._to_experts(of_returned)
        blocks = [
            layer.backward(block, layer_saved)
            for layer, block, layer_saved in zip(self.local, arrived, expert_saved, strict=True)
        ]
        of_sent = self._from_experts(np.stack(blocks))
        of_gates = np.zeros_like(gates)
        of_gates[routed, chosen[routed]] = (flat[routed] * back).sum(axis=1)
        of_scores = gates * (of_gates - (of_gates * gates).sum(axis=1, keepdims=True))
        of_tokens = self.router.backward(of_scores, router_saved)
        of_tokens[routed] += of_sent[chosen[routed], places[routed]]
        return of_tokens.reshape(gradient.shape)

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        tokens, width = math.prod(inputs[:-1]), inputs[-1]
        places, ranks = self._places_of_each(tokens), self.comm.size
        router = self.router.cost((tokens, width), itemsize)
        expert = Sequential([self.local[0]]).cost((ranks * places, width), itemsize)
        sent = self.experts * places * width * itemsize
        # Gates, the results of the experts, the chosen expert of each token, and two lists of places.
        routed = tokens * self.experts * itemsize + sent + 3 * tokens * INDEX
        traffic = Exchanges.for_calls(self.comm, "all-to-all", sent, 2)
        local = len(self.local)
        return Cost(
            inputs,
            router.activations + routed + local * expert.activations,
            0,
            router.operations + local * expert.operations,
            traffic,
            traffic,
        )

    def _places_of_each(self, tokens: int) -> int:
        """The places that each expert has for a rank's tokens."""
        return max(1, math.ceil(self.capacity * tokens))

    def _places(self, chosen: Array, capacity: int) -> tuple[Array, Array]:
        """The place of each token among those of its expert, and the tokens that have one."""
        places = np.zeros(len(chosen), np.int64)
        for expert in range(self.experts):
            tokens = np.flatnonzero(chosen == expert)
            places[tokens] = np.arange(len(tokens))
        return places, np.flatnonzero(places < capacity)

    def _to_experts(self, blocks: Array) -> Array:
        """Blocks [experts, capacity, width] of this rank's tokens -> of own experts [own, ranks x capacity, width]."""
        ranks, (capacity, width) = self.comm.size, blocks.shape[-2:]
        arrived = self.comm.all_to_all(blocks.reshape(ranks, -1, capacity, width))
        return arrived.transpose(1, 0, 2, 3).reshape(self.experts // ranks, -1, width)

    def _from_experts(self, blocks: Array) -> Array:
        """The way back of `_to_experts`."""
        ranks, width = self.comm.size, blocks.shape[-1]
        capacity = blocks.shape[1] // ranks
        ordered = blocks.reshape(-1, ranks, capacity, width).transpose(1, 0, 2, 3)
        return self.comm.all_to_all(ordered).reshape(self.experts, capacity, width)
