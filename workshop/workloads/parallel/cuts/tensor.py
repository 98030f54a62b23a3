"""Tensor parallel: the ranks of a group share each large matrix (Shoeybi et al., Megatron-LM, arXiv:1909.08053).

The first matrix of a pair is cut by columns and the second by rows. So nothing is exchanged between the two: the ranks
add up their outputs behind the pair, in the forward computation, and their inputs' gradients before it, in the backward
computation. Attention is such a pair, cut by heads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.layers import (
    Array,
    Attention,
    Gelu,
    Layer,
    Linear,
    Parameter,
    Relu,
    Residual,
    Saved,
)  # fmt: skip


class ColumnLinear(Linear):
    """The columns of a linear layer that this rank has: all inputs, a share of the outputs."""

    def __init__(self, whole: Linear, comm: CountingCommunicator) -> None:
        assert whole.bias is not None
        super().__init__(
            share_of(whole.weight, comm, axis=1),
            share_of(whole.bias, comm, axis=0),
        )
        self.comm = comm

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return self.comm.all_reduce(super().backward(gradient, saved))


class RowLinear(Linear):
    """The rows of a linear layer that this rank has: a share of the inputs, all outputs. The bias is added once."""

    def __init__(self, whole: Linear, comm: CountingCommunicator) -> None:
        super().__init__(share_of(whole.weight, comm, axis=0), None)
        self.shared_bias, self.comm = whole.bias, comm

    @property
    def parameters(self) -> Sequence[Parameter]:
        assert self.shared_bias is not None
        return [self.weight, self.shared_bias]

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        assert self.shared_bias is not None
        outputs, saved = super().forward(inputs)
        return self.comm.all_reduce(outputs) + self.shared_bias.value, saved

    def backward(self, gradient: Array, saved: Saved) -> Array:
        assert self.shared_bias is not None
        self.shared_bias.gradient += gradient.reshape(-1, gradient.shape[-1]).sum(axis=0)
        return super().backward(gradient, saved)


def cut(layers: Sequence[Layer], comm: CountingCommunicator) -> list[Layer]:
    """The layers with this rank's share of each pair of matrices: attention, and two linear layers with an activation
    between them. Other layers are on all ranks. Raises BadInput where heads or widths can't be divided."""
    shared: list[Layer] = []
    for layer in layers:
        match layer:
            case Residual():
                shared.append(Residual(*cut(layer.inside.layers, comm)))
            case Attention(inner=Linear() as inner, outer=Linear() as outer):
                if layer.heads % comm.size:
                    raise BadInput(f"{layer.heads} heads can't be divided among {comm.size} ranks; take a multiple.")
                shared.append(Attention(ColumnLinear(inner, comm), RowLinear(outer, comm), layer.heads // comm.size))
            case Linear() if len(shared) >= 2 and isinstance(shared[-1], Gelu | Relu) and type(shared[-2]) is Linear:
                before = shared[-2]
                assert isinstance(before, Linear)
                shared[-2:] = [ColumnLinear(before, comm), shared[-1], RowLinear(layer, comm)]
            case _:
                shared.append(layer)
    return shared


def traffic(layers: Sequence[Layer], positions: int, itemsize: int, ranks: int) -> tuple[int, int]:
    """All-reduces of one forward and backward computation, and their bytes, for so many positions (examples times
    length). Each pair adds up its outputs once and the gradient of its inputs once (Shoeybi et al., section 3)."""
    flat = _flat(layers) if ranks > 1 else []
    widths = [layer.weight.value.shape[1] for layer in flat if isinstance(layer, RowLinear)]
    widths += [layer.weight.value.shape[0] for layer in flat if isinstance(layer, ColumnLinear)]
    return len(widths), positions * sum(widths) * itemsize


def _flat(layers: Sequence[Layer]) -> list[Layer]:
    """All layers, those inside of other layers included."""
    flat: list[Layer] = []
    for layer in layers:
        match layer:
            case Residual():
                flat += _flat(layer.inside.layers)
            case Attention():
                flat += [layer.inner, layer.outer]
            case _:
                flat.append(layer)
    return flat


def share_of(whole: Parameter, comm: CountingCommunicator, axis: int) -> Parameter:
    """This rank's slice of a parameter. Raises BadInput where it can't be divided."""
    if whole.value.shape[axis] % comm.size:
        raise BadInput(f"{whole} can't be divided among {comm.size} ranks along axis {axis}; take a multiple.")
    return Parameter(whole.name, np.split(whole.value, comm.size, axis=axis)[comm.rank].copy())
