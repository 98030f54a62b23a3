"""Sequence parallel: beside a tensor cut, each rank has a share of the positions between the pairs of matrices
(Korthikanti et al., arXiv:2205.05198, section 4.2.2).

A tensor cut leaves normalisation, and its activations, whole on all ranks. Here they are divided along the length of
the text: an all-gather before each pair of matrices, and a reduce-scatter behind it, which together move what one
all-reduce moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges
from workshop.workloads.parallel.cuts import tensor
from workshop.workloads.parallel.network.layers import Array, Cost, Embedding, Layer, Saved, Sequential, Shape

LENGTH = 1  # the axis of the positions, in [batch, length, width]


class GatherColumns(tensor.ColumnCut):
    """Columns of a matrix for all positions, from inputs of this rank's positions."""

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        return self.inner.forward(self.comm.all_gather(inputs, LENGTH))

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return self.comm.reduce_scatter(self.inner.backward(gradient, saved), LENGTH)

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        full = (inputs[0], inputs[1] * self.comm.size, inputs[2])
        forward, backward = exchanges(full, itemsize, self.comm)
        return replace(self.inner.cost(full, itemsize), forward=forward, backward=backward)


class ScatterRows(tensor.RowCut):
    """Rows of a matrix for all positions; outputs of this rank's positions."""

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs, saved = self.inner.forward(inputs)
        return self.comm.reduce_scatter(outputs, LENGTH) + self.bias.value, saved

    def backward(self, gradient: Array, saved: Saved) -> Array:
        self.bias.add(lambda: gradient.reshape(-1, gradient.shape[-1]).sum(axis=0))
        return self.inner.backward(self.comm.all_gather(gradient, LENGTH), saved)

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        inner = self.inner.cost(inputs, itemsize)
        batch, length, width = inner.outputs
        backward, forward = exchanges(inner.outputs, itemsize, self.comm)
        return replace(inner, outputs=(batch, length // self.comm.size, width), forward=forward, backward=backward)


class OwnPositions(Layer):
    """This rank's share of the positions, behind the embedding."""

    def __init__(self, comm: CountingCommunicator) -> None:
        self.comm = comm

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        return own_positions(inputs, self.comm).copy(), None

    def backward(self, gradient: Array, saved: Saved) -> Array:
        batch, length, width = gradient.shape
        full = np.zeros((batch, length * self.comm.size, width), gradient.dtype)
        own_positions(full, self.comm)[...] = gradient
        return full

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        return Cost((inputs[0], inputs[1] // self.comm.size, inputs[2]))


def own_positions(array: Array, comm: CountingCommunicator) -> Array:
    """This rank's share along the length. Raises BadInput where it can't be divided."""
    length = array.shape[LENGTH]
    if length % comm.size:
        raise BadInput(f"A text of {length} characters can't be divided among {comm.size} ranks; take a multiple.")
    return np.split(array, comm.size, axis=LENGTH)[comm.rank]


def cut(layers: Sequence[Layer], comm: CountingCommunicator) -> list[Layer]:
    """The layers for this rank's columns, rows and positions. Raises BadInput as a tensor cut does."""
    shared: list[Layer] = []
    for layer in tensor.cut(layers, comm, (GatherColumns, ScatterRows)):
        shared += [layer, OwnPositions(comm)] if isinstance(layer, Embedding) else [layer]
    for parameter in Sequential(shared).parameters:
        parameter.partial = parameter.axis is None  # a rank has the gradients of its positions only
    return shared


def exchanges(shape: Shape, itemsize: int, comm: CountingCommunicator) -> tuple[Exchanges, Exchanges]:
    """An all-gather of an array of this shape, and a reduce-scatter."""
    size = math.prod(shape) * itemsize
    return Exchanges.for_calls(comm, "all-gather", size), Exchanges.for_calls(comm, "reduce-scatter", size)
