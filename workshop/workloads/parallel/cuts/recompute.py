"""Activation recomputation: keep the inputs of a part only, and compute the rest again when the gradient comes (Chen et
al., Training deep nets with sublinear memory cost, arXiv:1604.06174)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workshop.workloads.parallel.network.layers import Array, Cost, Layer, Residual, Saved, Shape, buffers


class Recomputed(Layer):
    """A layer whose activations are dropped after the forward computation, at the price of a second one."""

    def __init__(self, inside: Layer) -> None:
        self.inside = inside
        self.transient = 0  # bytes of the activations that were computed again

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs, _ = self.inside.forward(inputs)
        return outputs, inputs

    def backward(self, gradient: Array, saved: Saved) -> Array:
        _, activations = self.inside.forward(saved)
        self.transient = self.transient or buffers(activations)
        return self.inside.backward(gradient, activations)

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        inside = self.inside.cost(inputs, itemsize)
        return Cost(
            inside.outputs,
            math.prod(inputs) * itemsize,
            inside.activations + inside.transient,
            inside.operations,
            inside.forward,
            inside.forward + inside.backward,
        )


def recomputed(layers: Sequence[Layer]) -> list[Layer]:
    """The layers with each residual part computed again: what they keep is their inputs."""
    return [Recomputed(layer) if isinstance(layer, Residual) else layer for layer in layers]
