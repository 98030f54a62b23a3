"""The work of a rank in a step besides the exchange: input, forward and backward pass, evaluation, checkpoint. Either
it waits for drawn times, or it computes what a perceptron does in NumPy."""

from __future__ import annotations

import os
import tempfile
import time
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.scale import BATCH, FORWARD, StepParams
from workshop.workloads.scale.messages import wait_until

PIXELS, CLASSES = 64, 10
EXAMPLES = 4096


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


class NetworkWork:
    """The products of matrices of a perceptron with one hidden layer, on random images. A tensor is the weights of some
    hidden units."""

    def __init__(self, params: StepParams, rank: int) -> None:
        stream = np.random.default_rng([params.seed, rank])
        self._images = stream.standard_normal((EXAMPLES, PIXELS)).astype(np.float32)
        self._stream = stream
        unit = PIXELS + CLASSES
        edges = [round(edge / unit) for edge in np.cumsum([0, *params.tensor_sizes])]
        self._units = [slice(first, after) for first, after in pairwise(edges)]
        hidden = max(edges[-1], 1)
        self._first = stream.standard_normal((PIXELS, hidden)).astype(np.float32) / np.float32(8)
        self._second = stream.standard_normal((hidden, CLASSES)).astype(np.float32) / np.float32(hidden**0.5)
        self._sizes = params.tensor_sizes

    def read(self, batch: int) -> None:
        self._inputs = self._images[self._stream.integers(0, EXAMPLES, batch)]

    def forward(self) -> None:
        self._hidden = np.maximum(self._inputs @ self._first, 0)
        scores = self._hidden @ self._second
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        self._error = shares / shares.sum(axis=1, keepdims=True) / np.float32(len(scores))

    def backward(self, tensor: int) -> NDArray[np.float32]:
        units = self._units[tensor]
        hidden = self._hidden[:, units]
        second = hidden.T @ self._error
        back = (self._error @ self._second[units].T) * (hidden > 0)
        gradient = np.zeros(self._sizes[tensor], np.float32)
        values = np.concatenate([(self._inputs.T @ back).ravel(), second.ravel()])[: len(gradient)]
        gradient[: len(values)] = values
        return gradient

    def evaluate(self) -> None:
        np.maximum(self._images[:1024] @ self._first, 0) @ self._second

    def save(self) -> None:
        with tempfile.TemporaryFile() as file:
            for weights in (self._first, self._second):
                file.write(weights.tobytes())
            file.flush()
            os.fsync(file.fileno())


Work = PacedWork | NetworkWork
