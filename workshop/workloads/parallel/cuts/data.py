"""Data parallel: every rank has all weights and a share of the examples, and the ranks add up their gradients.

Three ways to exchange the same sums: a message for each tensor, one message for all, or buckets of a given size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges
from workshop.workloads.parallel.network.layers import Array, Parameter

Exchange = Literal["per-tensor", "fused", "buckets"]
BUCKET = 256 * 1024  # bytes


def add_up(
    parameters: Sequence[Parameter], comm: CountingCommunicator, exchange: Exchange = "fused", bucket: int = BUCKET
) -> None:
    """Replace each gradient by the sum over all ranks. Collective."""
    if comm.size == 1:
        return
    for group in groups(parameters, exchange, bucket):
        total = comm.all_reduce(np.concatenate([parameter.gradient.ravel() for parameter in group]))
        scatter(total, [parameter.gradient for parameter in group])


def groups(parameters: Sequence[Parameter], exchange: Exchange, bucket: int = BUCKET) -> list[list[Parameter]]:
    """The parameters whose gradients travel together. Buckets begin with the last layer, whose gradients are there
    first."""
    if exchange == "per-tensor":
        return [[parameter] for parameter in parameters]
    if exchange == "fused":
        return [list(parameters)] if parameters else []
    buckets, size = list[list[Parameter]](), bucket
    for parameter in reversed(parameters):
        if size + parameter.nbytes > bucket:
            buckets.append([])
            size = 0
        buckets[-1].append(parameter)
        size += parameter.nbytes
    return buckets


def traffic(
    parameters: Sequence[Parameter], comm: CountingCommunicator, exchange: Exchange = "fused", bucket: int = BUCKET
) -> Exchanges:
    """The all-reduces of one step: each gradient once, in as many calls as there are groups."""
    total = Exchanges()
    for group in groups(parameters, exchange, bucket):
        total += Exchanges.for_calls(comm, "all-reduce", sum(parameter.nbytes for parameter in group))
    return total


def scatter(flat: Array, arrays: Sequence[Array]) -> None:
    """Fill arrays, one after the other, from a flat one."""
    begin = 0
    for array in arrays:
        array[...] = flat[begin : begin + array.size].reshape(array.shape)
        begin += array.size
