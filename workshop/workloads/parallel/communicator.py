"""A communicator that counts its calls and bytes by kind.

Bytes are those of the array that a rank gives or gets: the whole array for an all-reduce, the whole input of a
reduce-scatter, the whole output of an all-gather, and the bytes sent for messages and all-to-all. How an MPI moves them
(ring, tree) is another question.

`RankGrid` says how many ranks divide the data, the layers, and the arrays within a layer: one reshape of the ranks.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from mpi4py import MPI  # whose import initialises MPI, and plans need no MPI

Array = NDArray[Any]
Kind = Literal["all-reduce", "reduce-scatter", "all-gather", "message", "all-to-all"]


@dataclass
class Exchanges:
    """Calls and bytes by axis of the grid and by kind, the bytes of the largest call, and the measured seconds of all
    collectives."""

    calls: Counter[tuple[str, Kind]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, Kind]] = field(default_factory=Counter)
    largest: int = 0
    seconds: float = 0.0

    @classmethod
    def for_calls(cls, comm: CountingCommunicator, kind: Kind, size: int, calls: int = 1) -> Exchanges:
        """So many calls of `size` bytes each; none in a group of one rank."""
        traffic = cls()
        if comm.size > 1:
            traffic.count(comm.axis, kind, size, calls)
        return traffic

    def count(self, axis: str, kind: Kind, size: int, calls: int = 1) -> None:
        if calls:
            self.calls[axis, kind] += calls
            self.bytes[axis, kind] += calls * size
            self.largest = max(self.largest, size)

    def __add__(self, other: Exchanges) -> Exchanges:
        return Exchanges(self.calls + other.calls, self.bytes + other.bytes, max(self.largest, other.largest))

    def __mul__(self, times: int) -> Exchanges:
        return Exchanges(
            Counter({kind: count * times for kind, count in self.calls.items()}),
            Counter({kind: count * times for kind, count in self.bytes.items()}),
            self.largest,
        )

    @property
    def total(self) -> int:
        """The bytes of all calls."""
        return sum(self.bytes.values())

    def as_json(self) -> dict[str, list[int]]:
        """Calls and bytes by axis and kind, such as "data all-reduce"."""
        return {" ".join(key): [count, self.bytes[key]] for key, count in sorted(self.calls.items())}


class CountingCommunicator:
    """The collectives and messages that cuts need, on arrays. Every method but `send` and `receive` is collective. It
    can be made without an MPI communicator, for a plan of a rank that doesn't run."""

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        comm: MPI.Comm | None = None,
        axis: str = "",
        traffic: Exchanges | None = None,
    ) -> None:
        self.rank, self.size, self.axis = rank, size, axis
        self.traffic = traffic or Exchanges()  # of all axes of a rank, if they share it
        self._comm = comm
        self._sends: list[tuple[MPI.Request, Array]] = []  # with their buffers, until they are through

    @property
    def comm(self) -> MPI.Comm:
        """The MPI communicator, for what isn't counted."""
        assert self._comm is not None, "a plan exchanges nothing"
        return self._comm

    def mirrored(self, replicas: int) -> CountingCommunicator:
        """This rank and the one as far from the other end, which have the same parts of two `replicas` in opposite
        directions; this rank alone with one replica. Collective, except for a plan."""
        pair = sorted({self.rank, self.size - 1 - self.rank}) if replicas == 2 else [self.rank]
        group = self.comm.Split(pair[0], self.rank) if self._comm is not None and replicas == 2 else None
        return CountingCommunicator(pair.index(self.rank), len(pair), group, "replicas", self.traffic)

    def all_reduce(self, array: Array) -> Array:
        """The sum of all ranks' arrays; with one rank the array itself."""
        if self.size == 1:
            return array
        return self._call("all-reduce", self.comm.Allreduce, array, np.empty_like(array, order="C"), array.nbytes)

    def reduce_scatter(self, array: Array, axis: int = 0) -> Array:
        """This rank's share, along an axis, of the sum of all ranks' arrays. The axis is a multiple of the ranks."""
        if self.size == 1:
            return array
        ordered = np.moveaxis(array, axis, 0)
        share = np.empty((len(ordered) // self.size, *ordered.shape[1:]), array.dtype)
        call = self.comm.Reduce_scatter_block
        return np.moveaxis(self._call("reduce-scatter", call, ordered, share, array.nbytes), 0, axis)

    def all_gather(self, share: Array, axis: int = 0) -> Array:
        """All ranks' arrays behind each other along an axis."""
        if self.size == 1:
            return share
        ordered = np.moveaxis(share, axis, 0)
        full = np.empty((len(ordered) * self.size, *ordered.shape[1:]), share.dtype)
        return np.moveaxis(self._call("all-gather", self.comm.Allgather, ordered, full, full.nbytes), 0, axis)

    def all_to_all(self, array: Array) -> Array:
        """Block i of the first axis goes to rank i; the result has the blocks that came, by rank."""
        if self.size == 1:
            return array
        return self._call("all-to-all", self.comm.Alltoall, array, np.empty_like(array, order="C"), array.nbytes)

    def _call(self, kind: Kind, call: Callable[[Array, Array], None], sent: Array, received: Array, size: int) -> Array:
        """Call a collective, and count it with its time."""
        began = time.perf_counter()
        call(np.ascontiguousarray(sent), received)
        self.traffic.seconds += time.perf_counter() - began
        self.traffic.count(self.axis, kind, size)
        return received

    def send(self, array: Array, to: int, tag: int) -> None:
        """Send without waiting; `finish` waits until everything has been sent."""
        buffer = np.array(array, order="C")
        self._sends = [(request, pending) for request, pending in self._sends if not request.Test()]
        self._sends.append((self.comm.Isend(buffer, dest=to, tag=tag), buffer))
        self.traffic.count(self.axis, "message", array.nbytes)

    def receive(self, like: tuple[tuple[int, ...], Any], source: int, tag: int) -> Array:
        """An array of this shape and type."""
        array = np.empty(*like)
        self.comm.Recv(array, source=source, tag=tag)
        return array

    def finish(self) -> None:
        for request, _ in self._sends:
            request.Wait()
        self._sends.clear()


AXES = ("data", "pipeline", "layer")
LAYER_CUTS = ("tensor", "sequence", "channel", "spatial", "experts")


@dataclass(frozen=True)
class RankGrid:
    """Ranks by data, pipeline and `layer`, which divides arrays within a layer as `kind` says. Neighbours along `layer`
    have neighbouring numbers: they exchange most often, and a mapper puts such ranks close to each other."""

    data: int = 1
    pipeline: int = 1
    layer: int = 1
    kind: str = "tensor"

    @classmethod
    def parse(cls, text: str, ranks: int) -> RankGrid:
        """A grid from words such as `pipeline:2,tensor:2`; all other ranks divide the data. Raises BadInput."""
        sizes: dict[str, int] = {}
        for word in filter(None, (part.strip() for part in text.split(","))):
            match = re.fullmatch(r"([a-z]+):([1-9]\d{0,5})", word)
            if match is None or match[1] not in ("data", "pipeline", *LAYER_CUTS):
                names = ", ".join(("data", "pipeline", *LAYER_CUTS))
                raise BadInput(f"{word!r} is no part of a cut; it should be like pipeline:2, with one of {names}.")
            if match[1] in sizes:
                raise BadInput(f"The cut {text!r} names {match[1]} twice; it should name it once.")
            sizes[match[1]] = int(match[2])
        kinds = [name for name in sizes if name in LAYER_CUTS]
        if len(kinds) > 1:
            raise BadInput(f"A grid divides layers in one way; take {kinds[0]} or {kinds[1]}.")
        product = int(np.prod(list(sizes.values()), dtype=int))
        if "data" not in sizes and ranks % product == 0:
            sizes["data"] = ranks // product
            product = ranks
        if product != ranks:
            raise BadInput(
                f"The cut {text!r} makes a grid of {product} places, and there are {ranks} ranks; both should be equal."
            )
        kind = kinds[0] if kinds else "tensor"
        return cls(sizes.get("data", 1), sizes.get("pipeline", 1), sizes.get(kind, 1), kind)

    def __str__(self) -> str:
        sizes = {"data": self.data, "pipeline": self.pipeline, self.kind: self.layer}
        return " × ".join(f"{name} {size}" for name, size in sizes.items() if size > 1) or "one rank"

    @property
    def divides_targets(self) -> bool:
        """Whether ranks that divide layers have targets of their own, and so a part of the loss each."""
        return self.kind in ("sequence", "experts")

    @property
    def example_shares(self) -> int:
        """How many shares of the examples there are."""
        return self.data * (self.layer if self.kind == "experts" else 1)

    @property
    def first_pipeline(self) -> list[int]:
        """The ranks of one pipeline, by stage."""
        return [int(rank) for rank in self.ranks[0, :, 0]]

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.data, self.pipeline, self.layer

    @property
    def size(self) -> int:
        return self.data * self.pipeline * self.layer

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The numbers of the ranks [data, pipeline, layer]."""
        return np.arange(self.size).reshape(self.shape)

    def place(self, rank: int) -> tuple[int, int, int]:
        """The place of a rank along data, pipeline and layer."""
        data, pipeline, layer = np.unravel_index(rank, self.shape)
        return int(data), int(pipeline), int(layer)

    def communicators(self, comm: MPI.Comm | None, rank: int) -> dict[str, CountingCommunicator]:
        """For each axis a rank's group: ranks that differ from it along this axis only. All share one count of their
        traffic. Collective, except without `comm`, for a plan."""
        place, groups, traffic = self.place(rank), {}, Exchanges()
        for number, axis in enumerate(AXES):
            group = None
            if comm is not None:
                others = np.delete(place, number)
                group = comm.Split(int(others[0] * np.delete(self.shape, number)[1] + others[1]), place[number])
            groups[axis] = CountingCommunicator(place[number], self.shape[number], group, axis, traffic)
        return groups
