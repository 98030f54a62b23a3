"""ZeRO: ranks that divide the data also divide what they would all hold alike (Rajbhandari et al., arXiv:1910.02054).

Stage 1 divides the optimizer's state, stage 2 the gradients as well, stage 3 the weights, too. All weights of a rank
are one flat array, padded so that every rank has an equal share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.cuts.data import flatten, scatter
from workshop.workloads.parallel.network.layers import Array, Parameter
from workshop.workloads.parallel.optimizer import Optimizer


class ShardedUpdate:
    """The update of one rank: it adds up its share of the gradients, steps with it, and collects the new weights."""

    def __init__(
        self, parameters: Sequence[Parameter], comm: CountingCommunicator, optimizer: Optimizer, stage: int
    ) -> None:
        self.parameters, self.comm, self.optimizer, self.stage = parameters, comm, optimizer, stage
        self.count = sum(parameter.value.size for parameter in parameters)
        self.padded = -(-self.count // comm.size) * comm.size
        share = self.padded // comm.size
        self.own = slice(comm.rank * share, (comm.rank + 1) * share)
        self.weights = self._padded([parameter.value for parameter in parameters])[self.own].copy()
        if stage == 3:
            self.release()

    def gather(self) -> None:
        """Stage 3: collect all weights before they are needed. Collective."""
        if self.stage == 3:
            whole = self.comm.all_gather(self.weights)
            for parameter, value in zip(self.parameters, self._parts(whole), strict=True):
                parameter.value = value

    def release(self) -> None:
        """Stage 3: keep this rank's share only."""
        if self.stage == 3:
            for parameter in self.parameters:
                parameter.value = np.empty((0,), parameter.gradient.dtype)

    def step(self) -> None:
        """Add up the gradients, update this rank's share, and collect the weights, unless stage 3 does so when they are
        needed. Collective."""
        gradients = self._padded([parameter.gradient for parameter in self.parameters])
        share = self.comm.all_reduce(gradients)[self.own] if self.stage == 1 else self.comm.reduce_scatter(gradients)
        self.optimizer.step(self.weights, share)
        if self.stage < 3:
            scatter(self.comm.all_gather(self.weights), [parameter.value for parameter in self.parameters])

    def traffic(self) -> dict[str, tuple[int, int]]:
        """Calls and bytes of one step, by kind."""
        if self.comm.size == 1:
            return {}
        size = self.padded * self.weights.itemsize
        return {"all-reduce" if self.stage == 1 else "reduce-scatter": (1, size), "all-gather": (1, size)}

    def _padded(self, arrays: Sequence[Array]) -> Array:
        flat = flatten(arrays)
        return np.concatenate([flat, np.zeros(self.padded - self.count, flat.dtype)])

    def _parts(self, flat: Array) -> list[Array]:
        parts, begin = [], 0
        for parameter in self.parameters:
            size = parameter.gradient.size
            parts.append(flat[begin : begin + size].reshape(parameter.gradient.shape).copy())
            begin += size
        return parts
