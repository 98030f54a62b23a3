"""Spatial parallel: every rank has a stripe of each image, and all weights.

A 3 x 3 convolution needs a row of each neighbouring stripe, the halo. Neighbours exchange it before every convolution,
and give its gradient back afterwards. It is the way for images that fit into no device (Awan et al., GEMS, SC20).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.layers import Array, Convolution, Layer, MeanPixels, Parameter, Saved

HALO = 1  # rows that a 3 x 3 convolution needs of each neighbour
UP, DOWN = 0, 1  # tags: a row that goes to the stripe above, or below


def stripe(images: Array, comm: CountingCommunicator) -> Array:
    """This rank's rows of images [batch, height, width, channels]. Raises BadInput where they can't be divided."""
    height = images.shape[1]
    if height % comm.size or height // comm.size < HALO:
        raise BadInput(
            f"Images of {height} rows can't be divided into {comm.size} stripes of at least {HALO} row; take a height "
            f"that is a multiple of {comm.size}."
        )
    return np.split(images, comm.size, axis=1)[comm.rank]


class StripeConvolution:
    """A convolution of a stripe, whose border rows come from the neighbours."""

    def __init__(self, whole: Convolution, comm: CountingCommunicator) -> None:
        self.inner = Convolution(whole.weight, whole.bias, halo=True)
        self.comm = comm

    @property
    def parameters(self) -> Sequence[Parameter]:
        return self.inner.parameters

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        above, below = exchange(inputs[:, :HALO], inputs[:, -HALO:], self.comm)
        return self.inner.forward(np.concatenate([above, inputs, below], axis=1))

    def backward(self, gradient: Array, saved: Saved) -> Array:
        of_padded = self.inner.backward(gradient, saved)
        # The halo's gradient belongs to the neighbours' rows, and theirs to ours.
        above, below = exchange(of_padded[:, :HALO], of_padded[:, -HALO:], self.comm)
        of_inputs = of_padded[:, HALO:-HALO].copy()
        of_inputs[:, :HALO] += above
        of_inputs[:, -HALO:] += below
        return of_inputs


class StripeMean:
    """The mean over all pixels of all stripes."""

    parameters: Sequence[Parameter] = ()

    def __init__(self, comm: CountingCommunicator) -> None:
        self.comm = comm

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        pixels = inputs.shape[1] * inputs.shape[2] * self.comm.size
        return self.comm.all_reduce(inputs.sum(axis=(1, 2)) / inputs.dtype.type(pixels)), (inputs.shape, pixels)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        shape, pixels = saved
        return np.broadcast_to(gradient[:, None, None] / gradient.dtype.type(pixels), shape).copy()


def exchange(top: Array, bottom: Array, comm: CountingCommunicator) -> tuple[Array, Array]:
    """Send rows to the stripes above and below; returns the rows that came from above and below, zeros at the edges."""
    above, below = comm.rank - 1, comm.rank + 1
    if above >= 0:
        comm.send(top, above, UP)
    if below < comm.size:
        comm.send(bottom, below, DOWN)
    like = top.shape, top.dtype
    from_above = comm.receive(like, above, DOWN) if above >= 0 else np.zeros(*like)
    from_below = comm.receive(like, below, UP) if below < comm.size else np.zeros(*like)
    comm.finish()
    return from_above, from_below


def cut(layers: Sequence[Layer], comm: CountingCommunicator) -> list[Layer]:
    """The layers for a stripe: convolutions exchange their halo, and the mean is that of all stripes."""
    cut_layers: list[Layer] = []
    for layer in layers:
        match layer:
            case Convolution():
                cut_layers.append(StripeConvolution(layer, comm))
            case MeanPixels():
                cut_layers.append(StripeMean(comm))
            case _:
                cut_layers.append(layer)
    return cut_layers


def partial(layers: Sequence[Layer]) -> list[Parameter]:
    """Parameters whose gradients are sums over the stripes: those of convolutions. Layers behind the mean have the same
    gradients on all ranks."""
    return [parameter for layer in layers if isinstance(layer, StripeConvolution) for parameter in layer.parameters]


def traffic(
    layers: Sequence[Layer], shapes: Sequence[tuple[int, ...]], itemsize: int, comm: CountingCommunicator
) -> tuple[int, int]:
    """Messages that this rank sends in one forward and backward computation, and their bytes; `shapes` are those of the
    layers' inputs [batch, height, width, channels]."""
    neighbours = (comm.rank > 0) + (comm.rank + 1 < comm.size)
    rows = [
        HALO * shape[0] * shape[2] * shape[3]
        for layer, shape in zip(layers, shapes, strict=True)
        if isinstance(layer, StripeConvolution)
    ]
    # The gradient of the halo is as large, with the columns of the padding cut off.
    return 2 * neighbours * len(rows), 2 * neighbours * sum(rows) * itemsize
