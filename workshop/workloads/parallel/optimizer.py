"""The update of a rank's weights: one flat array, so that one call moves and changes all of them, and a rank can hold
the optimizer's state of a slice only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.layers import Array, Parameter


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
