"""A communicator that counts its calls and bytes by kind.

Bytes are those of the array that a rank gives or gets: the whole array for an all-reduce, the whole input of a
reduce-scatter, the whole output of an all-gather, and what is sent for messages and all-to-all. How a library moves
them (ring, tree) is another question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[Any]
Kind = Literal["all-reduce", "reduce-scatter", "all-gather", "message", "all-to-all"]
KINDS: tuple[Kind, ...] = ("all-reduce", "reduce-scatter", "all-gather", "message", "all-to-all")


class CountingCommunicator:
    """The collectives and messages that cuts need, on arrays. Every method but `send` and `receive` is collective."""

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.calls: Counter[Kind] = Counter()
        self.bytes: Counter[Kind] = Counter()
        self._sends: list[tuple[MPI.Request, Array]] = []  # with their buffers, until they are through

    def all_reduce(self, array: Array) -> Array:
        """The sum of all ranks' arrays; with one rank the array itself."""
        if self.size == 1:
            return array
        total = np.empty_like(array, order="C")
        self.comm.Allreduce(np.ascontiguousarray(array), total, op=MPI.SUM)
        self._count("all-reduce", array.nbytes)
        return total

    def reduce_scatter(self, array: Array) -> Array:
        """This rank's share of the sum of all ranks' flat arrays, whose length is a multiple of the ranks."""
        if self.size == 1:
            return array
        share = np.empty(len(array) // self.size, array.dtype)
        self.comm.Reduce_scatter_block(np.ascontiguousarray(array), share, op=MPI.SUM)
        self._count("reduce-scatter", array.nbytes)
        return share

    def all_gather(self, share: Array) -> Array:
        """All ranks' flat arrays behind each other."""
        if self.size == 1:
            return share
        whole = np.empty(len(share) * self.size, share.dtype)
        self.comm.Allgather(np.ascontiguousarray(share), whole)
        self._count("all-gather", whole.nbytes)
        return whole

    def all_to_all(self, array: Array) -> Array:
        """Block i of the first axis goes to rank i; the result has the blocks that came, by rank."""
        if self.size == 1:
            return array
        received = np.empty_like(array, order="C")
        self.comm.Alltoall(np.ascontiguousarray(array), received)
        self._count("all-to-all", array.nbytes)
        return received

    def send(self, array: Array, to: int, tag: int) -> None:
        """Send without waiting; `finish` waits until all that was sent is through."""
        buffer = np.ascontiguousarray(array).copy()
        self._sends = [(request, kept) for request, kept in self._sends if not request.Test()]
        self._sends.append((self.comm.Isend(buffer, dest=to, tag=tag), buffer))
        self._count("message", array.nbytes)

    def receive(self, like: tuple[tuple[int, ...], Any], source: int, tag: int) -> Array:
        """An array of this shape and type."""
        shape, dtype = like
        array = np.empty(shape, dtype)
        self.comm.Recv(array, source=source, tag=tag)
        return array

    def finish(self) -> None:
        MPI.Request.Waitall([request for request, _ in self._sends])
        self._sends.clear()

    def reset(self) -> None:
        """Count from zero again."""
        self.calls.clear()
        self.bytes.clear()

    def counted(self) -> Mapping[str, tuple[int, int]]:
        """Calls and bytes of this rank, by kind."""
        return {kind: (self.calls[kind], self.bytes[kind]) for kind in KINDS if self.calls[kind]}

    def _count(self, kind: Kind, size: int) -> None:
        self.calls[kind] += 1
        self.bytes[kind] += size
