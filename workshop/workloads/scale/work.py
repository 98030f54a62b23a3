"""The work of a rank in a step besides the exchange: input, forward and backward pass, evaluation, checkpoint."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.scale import BATCH, FORWARD, StepParams
from workshop.workloads.scale.messages import wait_until


class PacedWork:
    """Waits as long as the work would take. The times of a step's passes are drawn from a lognormal distribution."""

    def __init__(self, params: StepParams, rank: int, size: int) -> None:
        self._params = params
        self._stream = np.random.default_rng([params.seed, rank])
        self._mean = params.compute / 1000 / BATCH * (params.slow if rank == size - 1 else 1.0)
        self._sigma = np.sqrt(np.log1p(params.spread**2))
        self._gradients = [np.full(count, 1.0, np.float32) for count in params.tensor_sizes]
        self._weights = [count / params.parameters for count in params.tensor_sizes]
        self._now = 0.0  # when the work so far should end

    def read(self, batch: int) -> None:
        factor = np.exp(self._sigma * self._stream.standard_normal() - self._sigma**2 / 2)
        self._seconds = float(self._mean * batch * factor)
        self._pause(self._params.input / 1000, begin=True)

    def forward(self) -> None:
        self._pause(FORWARD * self._seconds, begin=True)

    def backward(self, tensor: int) -> NDArray[np.float32]:
        self._pause((1 - FORWARD) * self._seconds * self._weights[tensor])
        return self._gradients[tensor]

    def evaluate(self) -> None:
        self._pause(self._params.evaluation / 1000, begin=True)

    def save(self) -> None:
        self._pause(self._params.checkpoint / 1000, begin=True)

    def _pause(self, seconds: float, begin: bool = False) -> None:
        """Wait, from now or from the end of the wait before: so short waits one after the other add up exactly."""
        self._now = (time.monotonic() if begin else self._now) + seconds
        wait_until(self._now)
