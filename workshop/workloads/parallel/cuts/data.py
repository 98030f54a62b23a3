"""Data parallel: every rank has all weights and a share of the examples, and the ranks add up their gradients.

Three ways to exchange the same sums: a message for each tensor, one message for all, or buckets of a given size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.layers import Array, Parameter

Exchange = Literal["per-tensor", "fused", "buckets"]
BUCKET = 256 * 1024  # bytes


def add_up(
    parameters: Sequence[Parameter], comm: CountingCommunicator, exchange: Exchange = "fused", bucket: int = BUCKET
) -> None:
    """Replace each gradient by the sum over all ranks. Collective."""
    for group in groups(parameters, exchange, bucket):
        total = comm.all_reduce(flatten([parameter.gradient for parameter in group]))
        scatter(total, [parameter.gradient for parameter in group])


def groups(parameters: Sequence[Parameter], exchange: Exchange, bucket: int = BUCKET) -> list[list[Parameter]]:
    """The parameters whose gradients travel together. Buckets begin with the last layer, whose gradients are there
    first."""
    if exchange == "per-tensor":
        return [[parameter] for parameter in parameters]
    if exchange == "fused":
        return [list(parameters)]
    buckets, size = list[list[Parameter]](), bucket
    for parameter in reversed(parameters):
        if size + parameter.gradient.nbytes > bucket:
            buckets.append([])
            size = 0
        buckets[-1].append(parameter)
        size += parameter.gradient.nbytes
    return buckets


def traffic(parameters: Sequence[Parameter], ranks: int, exchange: Exchange, bucket: int = BUCKET) -> tuple[int, int]:
    """All-reduces of one step and their bytes."""
    if ranks == 1:
        return 0, 0
    return len(groups(parameters, exchange, bucket)), sum(parameter.gradient.nbytes for parameter in parameters)


def flatten(arrays: Sequence[Array]) -> Array:
    return np.concatenate([array.ravel() for array in arrays])


def scatter(flat: Array, arrays: Sequence[Array]) -> None:
    """The reverse of `flatten`, in place."""
    begin = 0
    for array in arrays:
        array[...] = flat[begin : begin + array.size].reshape(array.shape)
        begin += array.size
