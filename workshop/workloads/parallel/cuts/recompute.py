"""Activation recomputation: keep the inputs of a part only, and compute the rest again when the gradient comes (Chen et
al., Training deep nets with sublinear memory cost, arXiv:1604.06174)."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.workloads.parallel.network.layers import Array, Layer, Parameter, Saved, Sequential


class Recomputed:
    """Layers whose activations are dropped after the forward computation, at the price of a second one."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.inside = Sequential(layers)

    @property
    def parameters(self) -> Sequence[Parameter]:
        return self.inside.parameters

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs, _ = self.inside.forward(inputs)
        return outputs, inputs

    def backward(self, gradient: Array, saved: Saved) -> Array:
        _, again = self.inside.forward(saved)
        return self.inside.backward(gradient, again)
