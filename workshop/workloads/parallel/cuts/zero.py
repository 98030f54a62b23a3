"""ZeRO: ranks that divide the data also divide what they would all hold alike (Rajbhandari et al., arXiv:1910.02054).

Stage 1 divides the optimizer's state (`Update` does so), stage 2 the gradients as well, and stage 3 the weights, too.
Stages 2 and 3 work layer by layer: gradients are added up and divided as soon as a layer has them, and in stage 3 the
weights of a layer are collected when it computes and dropped afterwards.

`Update` has a rank's weights as one flat array, so that one call moves and changes all of them, and a rank can hold
the optimizer's state of a slice only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges
from workshop.workloads.parallel.cuts import data
from workshop.workloads.parallel.network.layers import Array, Cost, Layer, Parameter, Saved, Shape


class Adam:
    """Adam (Kingma and Ba, arXiv:1412.6980, algorithm 1)."""

    states = 2  # arrays that it keeps for each weight

    def __init__(self, rate: float, first: float = 0.9, second: float = 0.999, epsilon: float = 1e-8) -> None:
        self.rate, self.first, self.second, self.epsilon = rate, first, second, epsilon
        self.steps = 0
        self.means: Array | None = None
        self.squares: Array | None = None

    def step(self, weights: Array, gradients: Array) -> None:
        if self.means is None or self.squares is None:
            self.means, self.squares = np.zeros_like(weights), np.zeros_like(weights)
        self.steps += 1
        self.means += (1 - self.first) * (gradients - self.means)
        self.squares += (1 - self.second) * (gradients * gradients - self.squares)
        scale = math.sqrt(1 - self.second**self.steps)
        rate = self.rate * scale / (1 - self.first**self.steps)
        weights -= rate * self.means / (np.sqrt(self.squares) + self.epsilon * scale)

    @property
    def nbytes(self) -> int:
        return sum(0 if state is None else state.nbytes for state in (self.means, self.squares))


class Update:
    """The weights and gradients of `parameters` as flat arrays, and the optimizer that changes them. `comm`: ranks that
    divide the optimizer's state (ZeRO 1: Rajbhandari et al., arXiv:1910.02054, section 5.1); None: each rank has all of
    it."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        dtype: np.dtype,
        optimizer: Adam,
        comm: CountingCommunicator | None = None,
    ) -> None:
        self.comm, self.optimizer = comm or CountingCommunicator(), optimizer
        self.count = sum(parameter.size for parameter in parameters)
        padded = -(-self.count // self.comm.size) * self.comm.size
        self.weights, self.gradients = (np.zeros(padded, dtype) for _ in range(2))
        begin = 0
        for parameter in parameters:
            place = slice(begin, begin + parameter.size)
            self.weights[place] = parameter.value.ravel()
            parameter.value = self.weights[place].reshape(parameter.shape)
            parameter.gradient = self.gradients[place].reshape(parameter.shape)
            begin = place.stop
        share = padded // self.comm.size
        self.local = slice(self.comm.rank * share, (self.comm.rank + 1) * share)

    def clear(self) -> None:
        self.gradients[...] = 0

    def step(self, gather: bool = True) -> None:
        """Change the weights. Without `gather`, a rank keeps the old values of the weights that others have changed: a
        fault to study. Collective."""
        self.optimizer.step(self.weights[self.local], self.comm.reduce_scatter(self.gradients))
        if gather and self.comm.size > 1:
            self.weights[...] = self.comm.all_gather(self.weights[self.local])


class ShardedLayer(Layer):
    """A layer of which this rank holds a share of the gradients and, in stage 3, of the weights. Its one parameter is
    the share. `group`: ranks that divide the layer itself, which add up partial gradients first."""

    def __init__(self, inner: Layer, comm: CountingCommunicator, group: CountingCommunicator, stage: int) -> None:
        self.inner, self.comm, self.group, self.stage = inner, comm, group, stage
        self.full = list(inner.parameters)
        count = sum(parameter.size for parameter in self.full)
        self.padded = -(-count // comm.size) * comm.size
        if any(0 in parameter.value.strides for parameter in self.full):  # of a plan
            flat = np.broadcast_to(np.zeros((), self.full[0].dtype), self.padded)
        else:
            flat = self._flat([parameter.value for parameter in self.full])
        self.share = Parameter(f"share of {self.full[0].name}", flat).slice(comm.rank, comm.size, 0)
        self.transient = 0  # bytes of whole weights and gradients of the layer, while it computes
        self.drop()

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [self.share]

    def gather(self) -> None:
        """Collect the layer's weights. Collective."""
        full, begin = self.comm.all_gather(self.share.value), 0
        for parameter in self.full:
            parameter.value = full[begin : begin + parameter.size].reshape(parameter.shape)
            begin += parameter.size

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        if self.stage == 3:
            self.gather()
        answer = self.inner.forward(inputs)
        self.drop()
        return answer

    def backward(self, gradient: Array, saved: Saved) -> Array:
        if self.stage == 3:
            self.gather()
        of_inputs = self.inner.backward(gradient, saved)
        data.add_up([parameter for parameter in self.full if parameter.partial], self.group)
        flat = self._flat([parameter.gradient for parameter in self.full])
        self.share.gradient += self.comm.reduce_scatter(flat)
        self.transient = (flat.nbytes if self.comm.size > 1 else 0) * (2 if self.stage == 3 else 1)
        for parameter in self.full:
            parameter.gradient = None
        self.drop()
        return of_inputs

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        inner = self.inner.cost(inputs, itemsize)
        size = self.padded * itemsize
        gather = Exchanges.for_calls(self.comm, "all-gather", size) if self.stage == 3 else Exchanges()
        partial = data.traffic([parameter for parameter in self.full if parameter.partial], self.group)
        local = size * (2 if self.stage == 3 else 1) if self.comm.size > 1 else 0
        return replace(
            inner,
            transient=inner.transient + local,
            forward=inner.forward + gather,
            backward=inner.backward + gather + partial + Exchanges.for_calls(self.comm, "reduce-scatter", size),
        )

    def drop(self) -> None:
        """Stage 3: keep this rank's share of the weights only."""
        if self.stage == 3 and self.comm.size > 1:
            for parameter in self.full:
                parameter.value = np.empty(0, parameter.dtype)

    def after_update(self) -> Exchanges:
        """The traffic after an update: stage 2 collects the weights once."""
        size = self.padded * self.share.dtype.itemsize
        return Exchanges.for_calls(self.comm, "all-gather", size) if self.stage == 2 else Exchanges()

    def _flat(self, arrays: Sequence[Array]) -> Array:
        flat = np.zeros(self.padded, arrays[0].dtype)
        begin = 0
        for array in arrays:
            flat[begin : begin + array.size] = array.ravel()
            begin += array.size
        return flat


def sharded(
    layers: Sequence[Layer], comm: CountingCommunicator, group: CountingCommunicator, stage: int
) -> list[Layer]:
    """The layers with their gradients, and in stage 3 their weights, divided among the ranks."""
    return [ShardedLayer(layer, comm, group, stage) if layer.parameters else layer for layer in layers]
