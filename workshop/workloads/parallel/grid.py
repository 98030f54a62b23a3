"""The grid of ranks: how many divide the data, the layers and the tensors. The grid is one reshape of the ranks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator

AXES = ("data", "pipeline", "tensor")


@dataclass(frozen=True)
class RankGrid:
    """Ranks by data, pipeline and tensor: neighbours along `tensor` have neighbouring numbers, since they exchange most
    often, and a mapper puts neighbours close to each other."""

    data: int = 1
    pipeline: int = 1
    tensor: int = 1

    @classmethod
    def parse(cls, text: str, ranks: int) -> RankGrid:
        """A grid from words such as `pipeline:2,tensor:2`; the other ranks divide the data. Raises BadInput."""
        sizes: dict[str, int] = {}
        for word in filter(None, (part.strip() for part in text.split(","))):
            found = re.fullmatch(r"(\w+):(\d+)", word)
            if found is None or found[1] not in AXES or int(found[2]) < 1 or found[1] in sizes:
                raise BadInput(f"{word!r} is no part of a grid; it should be like pipeline:2, of {', '.join(AXES)}.")
            sizes[found[1]] = int(found[2])
        product = int(np.prod(list(sizes.values()), dtype=int))
        if "data" not in sizes and ranks % product == 0:
            sizes["data"] = ranks // product
            product = ranks
        if product != ranks:
            raise BadInput(
                f"The grid {text!r} has {product} places, and there are {ranks} ranks; both should be equal."
            )
        return cls(**sizes)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.data, self.pipeline, self.tensor

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The numbers of the ranks [data, pipeline, tensor]."""
        return np.arange(int(np.prod(self.shape))).reshape(self.shape)

    def place(self, rank: int) -> tuple[int, int, int]:
        """The place of a rank along data, pipeline and tensor."""
        data, pipeline, tensor = np.unravel_index(rank, self.shape)
        return int(data), int(pipeline), int(tensor)

    def communicator(self, comm: MPI.Comm, axis: str) -> CountingCommunicator:
        """The ranks that differ from this one along one axis only. Collective."""
        number = AXES.index(axis)
        place = self.place(comm.Get_rank())
        others = [size for size in (*place[:number], *place[number + 1 :])]
        sizes = [*self.shape[:number], *self.shape[number + 1 :]]
        group = others[0] * sizes[1] + others[1]
        return CountingCommunicator(comm.Split(group, place[number]))
