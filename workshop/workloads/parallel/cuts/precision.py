"""Mixed precision: compute with 16 bits, keep the weights with 32 (Micikevicius et al., arXiv:1710.03740).

Small gradients would become 0 in float16, so the loss is scaled up before the backward computation, and the gradients
are scaled down before the update. Where a gradient is no number, the step is left out and the scale is halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from workshop.workloads.parallel.network.layers import Array, Parameter
from workshop.workloads.parallel.optimizer import Optimizer

Precision = Literal["float64", "float32", "float16", "bfloat16"]
SCALE = 2.0**15  # of the loss, at the beginning
PATIENCE = 200  # steps without a fault before the scale is doubled


class MixedUpdate:
    """Master weights in float32 behind parameters in float16, and the scale of the loss."""

    def __init__(self, parameters: Sequence[Parameter], optimizer: Optimizer) -> None:
        self.parameters, self.optimizer = parameters, optimizer
        self.master = np.concatenate([parameter.value.astype(np.float32).ravel() for parameter in parameters])
        self.scale = SCALE
        self.skipped = 0
        self._good = 0

    def step(self) -> bool:
        """Update the weights from scaled gradients; returns whether the step was taken."""
        gradients = np.concatenate([parameter.gradient.astype(np.float32).ravel() for parameter in self.parameters])
        if not np.isfinite(gradients).all():
            self.scale, self._good = self.scale / 2, 0
            self.skipped += 1
            return False
        self.optimizer.step(self.master, gradients / np.float32(self.scale))
        begin = 0
        for parameter in self.parameters:
            end = begin + parameter.value.size
            parameter.value[...] = self.master[begin:end].reshape(parameter.value.shape)
            begin = end
        self._good += 1
        if self._good % PATIENCE == 0:
            self.scale *= 2
        return True


def as_bfloat16(array: Array) -> Array:
    """Round float32 to the nearest value of bfloat16, which has the exponent of float32 and 8 bits of precision. NumPy
    has no bfloat16, so the result is stored as float32."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)  # ties to even
    return np.where(np.isfinite(array), rounded.view(np.float32), array)
