"""All that travels between institutions and the aggregator, and nothing else does: models down; updates, how many
images are behind them, and scores up.

Every message is an array of a declared kind: its type and its number of values are fixed before it is sent, so no
message has room for images or labels. The aggregator lives on rank 0. Institutions are dealt out to the ranks in turn;
who lives on the aggregator's rank is told and counted like everybody else, but needs no MPI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

AGGREGATOR = 0  # its rank
TAGS = 1000  # between those of one kind and of the next


@dataclass(frozen=True)
class Kind:
    """What a message holds; `values` is None where it is as many as the model has parameters."""

    name: str
    dtype: str
    values: int | None
    tag: int

    def check(self, array: NDArray[Any], parameters: int) -> NDArray[Any]:
        """The array, which is what was declared. Raises ValueError for anything else."""
        size = parameters if self.values is None else self.values
        if array.dtype != np.dtype(self.dtype) or array.shape != (size,):
            raise ValueError(
                f"A message of kind {self.name} is {self.dtype} [{size}], not {array.dtype} {list(array.shape)}."
            )
        return np.ascontiguousarray(array)

    def empty(self, parameters: int) -> NDArray[Any]:
        return np.empty(parameters if self.values is None else self.values, self.dtype)


MODEL = Kind("model", "float32", None, 0)  # down: the shared model
UPDATE = Kind("update", "float32", None, 1)  # up: what an institution's training has added to it
COUNT = Kind("count", "int64", 1, 2)  # up: how many images are behind an update
SCORE = Kind("score", "float64", 12, 3)  # up: sums of losses and of right answers over images, see `rank.Score`
SHARE = Kind("share", "float64", 3, 4)  # up, of a rank: the same of its part of the held-out images
REPORT = Kind("report", "float64", 3, 5)  # up, of a rank: images read, seconds of training, bytes of memory
KINDS = (MODEL, UPDATE, COUNT, SCORE, SHARE, REPORT)


def home(institution: int, ranks: int) -> int:
    """The rank on which an institution lives."""
    return institution % ranks


class Line:
    """One rank's end. Its methods are collective.

    `down` and `up` count bytes as institutions send and get them, each by itself, as over a network between them;
    `moved` those that this rank has handed to MPI: the institutions of one rank share the model that comes to it.
    """

    def __init__(self, comm: Any, institutions: int, parameters: int) -> None:
        self.comm, self.institutions, self.parameters = comm, institutions, parameters
        self.bytes_down = 0
        self.bytes_up = 0
        self.moved = 0

    def model(self, vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """The aggregator's model, for all institutions."""
        here = self.comm.rank == AGGREGATOR
        message = MODEL.empty(self.parameters)
        if here:
            assert vector is not None
            message = MODEL.check(vector, self.parameters)
        self.comm.Bcast(message, root=AGGREGATOR)
        self.bytes_down += self.institutions * message.nbytes
        self.moved += (self.comm.size - 1) * message.nbytes if here else 0
        return message

    def from_institutions(
        self, kind: Kind, mine: Mapping[int, NDArray[Any]], senders: Sequence[int]
    ) -> dict[int, NDArray[Any]]:
        """What these institutions tell the aggregator, on its rank; empty on others. `mine` has the messages of those
        that live here."""
        found = self._up(kind, mine, {sender: home(sender, self.comm.size) for sender in senders})
        self.bytes_up += sum(message.nbytes for message in found.values())
        return found

    def from_ranks(self, kind: Kind, mine: NDArray[Any]) -> list[NDArray[Any]]:
        """What every rank tells of its own work for the aggregator: [ranks] on its rank, empty on others."""
        found = self._up(kind, {self.comm.rank: mine}, {rank: rank for rank in range(self.comm.size)})
        return [found[rank] for rank in sorted(found)]

    def _up(self, kind: Kind, mine: Mapping[int, NDArray[Any]], homes: Mapping[int, int]) -> dict[int, NDArray[Any]]:
        # All go through their senders in the same order, so that nobody waits for a message that comes later.
        found: dict[int, NDArray[Any]] = {}
        for sender, where in sorted(homes.items()):
            tag = kind.tag * TAGS + sender
            if where == self.comm.rank:
                message = kind.check(mine[sender], self.parameters)
                if where == AGGREGATOR:
                    found[sender] = message.copy()
                else:
                    self.comm.Send(message, dest=AGGREGATOR, tag=tag)
                    self.moved += message.nbytes
            elif self.comm.rank == AGGREGATOR:
                found[sender] = kind.empty(self.parameters)
                self.comm.Recv(found[sender], source=where, tag=tag)
        return found
