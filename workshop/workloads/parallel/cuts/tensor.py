"""Tensor parallel: the ranks of a group share each large matrix (Shoeybi et al., Megatron-LM, arXiv:1909.08053).

The first matrix of a pair is cut by columns and the second by rows. So nothing is exchanged between the two: the ranks
add up their outputs behind the pair, in the forward computation, and their inputs' gradients before it, in the backward
computation. Attention is such a pair, cut by heads; two convolutions are one, cut by channels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges
from workshop.workloads.parallel.network.layers import (
    Array,
    Attention,
    Convolution,
    Cost,
    Gelu,
    Layer,
    Linear,
    Parameter,
    Relu,
    Residual,
    Saved,
    Shape,
)  # fmt: skip

Matrix = Linear | Convolution


class ColumnCut(Layer):
    """The columns of a matrix that this rank has: all inputs, a share of the outputs."""

    def __init__(self, full: Matrix, comm: CountingCommunicator) -> None:
        assert full.bias is not None
        self.inner, self.comm = part_of(full, slice_of(full.weight, comm, -1), slice_of(full.bias, comm, 0)), comm

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        return self.inner.forward(inputs)

    def backward(self, gradient: Array, saved: Saved) -> Array:
        return self.comm.all_reduce(self.inner.backward(gradient, saved))

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        inner = self.inner.cost(inputs, itemsize)
        return replace(inner, backward=traffic(inputs, itemsize, self.comm))


class RowCut(Layer):
    """The rows of a matrix that this rank has: a share of the inputs, all outputs. The bias is added once."""

    def __init__(self, full: Matrix, comm: CountingCommunicator) -> None:
        assert full.bias is not None
        self.inner, self.bias, self.comm = part_of(full, slice_of(full.weight, comm, -2), None), full.bias, comm

    def forward(self, inputs: Array) -> tuple[Array, Saved]:
        outputs, saved = self.inner.forward(inputs)
        return self.comm.all_reduce(outputs) + self.bias.value, saved

    def backward(self, gradient: Array, saved: Saved) -> Array:
        self.bias.add(lambda: gradient.reshape(-1, gradient.shape[-1]).sum(axis=0))
        return self.inner.backward(gradient, saved)

    def cost(self, inputs: Shape, itemsize: int) -> Cost:
        inner = self.inner.cost(inputs, itemsize)
        return replace(inner, forward=traffic(inner.outputs, itemsize, self.comm))


Pair = tuple[Callable[[Matrix, CountingCommunicator], Layer], Callable[[Matrix, CountingCommunicator], Layer]]


def cut(layers: Sequence[Layer], comm: CountingCommunicator, pair: Pair = (ColumnCut, RowCut)) -> list[Layer]:
    """The layers with this rank's share of each pair of matrices: attention, and two matrices with an activation
    between them. Other layers are on all ranks. Raises BadInput where heads or widths can't be divided."""
    column, row = pair
    shared: list[Layer] = []
    for layer in layers:
        match layer:
            case Residual():
                shared.append(Residual(*cut(layer.inside.layers, comm, pair)))
            case Attention(inner=Linear() as inner, outer=Linear() as outer):
                if layer.heads % comm.size:
                    raise BadInput(
                        f"{layer.heads} heads can't be divided among {comm.size} ranks; take a number of heads that is "
                        f"a multiple of {comm.size}."
                    )
                shared.append(Attention(column(inner, comm), row(outer, comm), layer.heads // comm.size))
            case Linear() | Convolution() if (
                len(shared) >= 2 and isinstance(shared[-1], Gelu | Relu) and type(shared[-2]) is type(layer)
            ):
                first = shared[-2]
                assert isinstance(first, Linear | Convolution)
                shared[-2:] = [column(first, comm), shared[-1], row(layer, comm)]
            case _:
                shared.append(layer)
    return shared


def traffic(shape: Shape, itemsize: int, comm: CountingCommunicator) -> Exchanges:
    """One all-reduce of an array of this shape (Shoeybi et al., section 3: one in the forward computation of each pair
    and one in the backward computation)."""
    return Exchanges.for_calls(comm, "all-reduce", math.prod(shape) * itemsize)


def part_of(full: Matrix, weight: Parameter, bias: Parameter | None) -> Matrix:
    """A layer of the same kind with a slice of its weights."""
    return Linear(weight, bias) if isinstance(full, Linear) else Convolution(weight, bias, full.halo)


def slice_of(full: Parameter, comm: CountingCommunicator, axis: int) -> Parameter:
    """This rank's slice of a parameter. Raises BadInput where it can't be divided."""
    if full.shape[axis] % comm.size:
        raise BadInput(
            f"{full.name} has {full.shape[axis]} channels, which can't be divided among {comm.size} ranks; take a "
            f"multiple of {comm.size}."
        )
    return full.slice(comm.rank, comm.size, axis)
