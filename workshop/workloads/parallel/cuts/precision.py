"""Mixed precision: compute with 16 bits, keep the weights with 32 (Micikevicius et al., arXiv:1710.03740).

Small gradients would become 0 in float16, so the loss is scaled up before the backward computation, and the gradients
are scaled down before the update. Where a gradient is no number, the step is left out and the scale is halved.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from workshop.workloads.parallel.network.layers import Array, Cost, Layer, Saved, Shape

# NumPy has no bfloat16: its values are stored as float32.
DTYPES: Mapping[str, DTypeLike] = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": np.float32,
}
MIXED = ("float16", "bfloat16")
SCALE = 2.0**15  # of the loss, at the beginning; bfloat16 has the range of float32 and needs none
PATIENCE = 200  # steps without a fault before the scale is doubled


class LossScale:
    """The scale of the loss of float16; `skipped` counts the steps that were left out."""

    def __init__(self, precision: str) -> None:
        self.value = SCALE if precision == "float16" else 1.0
        self.adapts = precision == "float16"
        self.skipped = self._good = 0

    def judge(self, finite: bool) -> bool:
        """Decide whether to take the step. `finite`: whether all ranks have gradients that are numbers."""
        if not self.adapts:
            return True
        if not finite:
            self.value, self._good = self.value / 2, 0
            self.skipped += 1
            return False
        self._good += 1
        if self._good % PATIENCE == 0:
            self.value *= 2
        return True


class Rounded(Layer):
    """A layer whose outputs and gradients are rounded to bfloat16."""

    def __init__(self, inner: Layer) -> None:
        self.inner = inner

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs, saved = self.inner.forward(inputs)
        return as_bfloat16(outputs), saved

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return as_bfloat16(self.inner.backward(gradient, saved))

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        return self.inner.cost(inputs, itemsize)


def as_bfloat16(array: Array) -> Array:
    """Round float32 to the nearest value of bfloat16, which has the exponent of float32 and 8 bits of precision."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)  # ties to even
    return np.where(np.isfinite(array), rounded.view(np.float32), array)
