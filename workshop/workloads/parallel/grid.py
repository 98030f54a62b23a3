"""The grid of ranks: how many divide the data, the layers, and the arrays within a layer. It is one reshape of the
ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges

if TYPE_CHECKING:
    from mpi4py import MPI

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

    def communicators(self, comm: MPI.Comm | None, rank: int) -> Mapping[str, CountingCommunicator]:
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
