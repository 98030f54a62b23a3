"""Spatial parallel: every rank has a stripe of each image, and all weights.

A 3 x 3 convolution needs a row of each neighbouring stripe, the halo. Neighbours exchange it before every convolution,
and give its gradient back afterwards. It is the way for images that fit into no device (Jain et al., GEMS, SC20).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges
from workshop.workloads.parallel.network.layers import (
    Array,
    Convolution,
    Cost,
    Layer,
    MeanPixels,
    Saved,
    Shape,
)  # fmt: skip

HALO = 1  # rows that a 3 x 3 convolution needs of each neighbour
UP, DOWN = 0, 1  # tags: a row that goes to the stripe above, or below


class StripeConvolution(Layer):
    """A convolution of a stripe, whose border rows come from the neighbours. Without `halo` they are zeros, as if each
    stripe were an image of its own: a fault to study."""

    def __init__(self, full: Convolution, comm: CountingCommunicator, halo: bool = True) -> None:
        self.inner, self.comm, self.halo = Convolution(full.weight, full.bias, halo=True), comm, halo
        for parameter in self.parameters:
            parameter.partial = True  # the sum over the pixels of a stripe

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        above, below = self._exchange(inputs[:, :HALO], inputs[:, -HALO:])
        return self.inner.forward(np.concatenate([above, inputs, below], axis=1))

    def backward(self, gradient: Array, saved: Saved) -> Array:
        of_padded = self.inner.backward(gradient, saved)
        # The halo's gradient belongs to the neighbours' rows, and theirs to ours.
        above, below = self._exchange(of_padded[:, :HALO], of_padded[:, -HALO:])
        of_inputs = of_padded[:, HALO:-HALO].copy()
        of_inputs[:, :HALO] += above
        of_inputs[:, -HALO:] += below
        return of_inputs

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        batch, height, width, channels = inputs
        cost = self.inner.cost((batch, height + 2 * HALO, width, channels), itemsize)
        comm = self.comm
        neighbours = (comm.rank > 0) + (comm.rank + 1 < comm.size) if self.halo else 0
        traffic = Exchanges.for_calls(comm, "message", HALO * batch * width * channels * itemsize, neighbours)
        return replace(cost, forward=traffic, backward=traffic)

    def _exchange(self, top: Array, bottom: Array) -> tuple[Array, Array]:
        """Send rows to the stripes above and below; the rows that came from above and below, zeros at the edges."""
        comm, like = self.comm, (top.shape, top.dtype)
        above, below = comm.rank - 1, comm.rank + 1
        if not self.halo or comm.size == 1:
            return np.zeros(*like), np.zeros(*like)
        if above >= 0:
            comm.send(top, above, UP)
        if below < comm.size:
            comm.send(bottom, below, DOWN)
        from_above = comm.receive(like, above, DOWN) if above >= 0 else np.zeros(*like)
        from_below = comm.receive(like, below, UP) if below < comm.size else np.zeros(*like)
        comm.finish()
        return from_above, from_below


class StripeMean(Layer):
    """The mean over all pixels of all stripes."""

    def __init__(self, comm: CountingCommunicator) -> None:
        self.comm = comm

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        pixels = inputs.shape[1] * inputs.shape[2] * self.comm.size
        return self.comm.all_reduce(inputs.sum(axis=(1, 2)) / inputs.dtype.type(pixels)), (inputs.shape, pixels)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        shape, pixels = saved
        return np.broadcast_to(gradient[:, None, None] / gradient.dtype.type(pixels), shape).copy()

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        outputs = (inputs[0], inputs[3])
        return Cost(outputs, forward=Exchanges.for_calls(self.comm, "all-reduce", math.prod(outputs) * itemsize))


def own_stripe(images: Array, comm: CountingCommunicator) -> Array:
    """This rank's rows of images [batch, height, width, channels]. Raises BadInput where they can't be divided."""
    height = images.shape[1]
    if height % comm.size or height // comm.size < HALO:
        raise BadInput(
            f"Images of {height} rows can't be divided into {comm.size} stripes of at least {HALO} row, which the halo "
            f"needs; take a height that is a multiple of {comm.size}."
        )
    return np.split(images, comm.size, axis=1)[comm.rank]


def cut(layers: Sequence[Layer], comm: CountingCommunicator, halo: bool = True) -> list[Layer]:
    """The layers for a stripe: convolutions exchange their halo, and the mean is over all stripes."""
    cut_layers: list[Layer] = []
    for layer in layers:
        match layer:
            case Convolution():
                cut_layers.append(StripeConvolution(layer, comm, halo))
            case MeanPixels():
                cut_layers.append(StripeMean(comm))
            case _:
                cut_layers.append(layer)
    return cut_layers
