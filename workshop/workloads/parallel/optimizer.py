"""Optimizers on flat arrays, so that a rank can hold the state of a slice only."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Optimizer(Protocol):
    """`states`: arrays that it keeps for each weight; `nbytes`: their bytes."""

    states: int

    @property
    def nbytes(self) -> int: ...

    def step(self, weights: Array, gradients: Array) -> None:
        """Change the weights in place."""


class Sgd:
    """w <- w - rate * gradient."""

    states = 0
    nbytes = 0

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def step(self, weights: Array, gradients: Array) -> None:
        weights -= self.rate * gradients


class Adam:
    """Adam (Kingma and Ba, arXiv:1412.6980, algorithm 1)."""

    states = 2

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
