"""All messages between institutions and the aggregator: models down; updates, numbers of images and scores up.

Every message is an array of a declared kind: its type and its number of values are fixed before it is sent, so no
message has room for images or labels. The aggregator lives on rank 0. Institutions are dealt out to the ranks in turn.
Messages of institutions on the aggregator's rank are checked and counted like all others, but don't travel over MPI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

AGGREGATOR = 0  # the aggregator's rank
TAGS = 1000  # MPI tags for each kind: one for each sender


@dataclass(frozen=True)
class MessageKind:
    """A kind of message. `values` is the number of its values; None: as many as the model has parameters."""

    name: str
    dtype: str
    values: int | None
    tag: int

    def check(self, array: NDArray[Any], parameters: int) -> NDArray[Any]:
        """Return the array. Raises ValueError where its type or shape is not the declared one."""
        size = parameters if self.values is None else self.values
        if array.dtype != np.dtype(self.dtype) or array.shape != (size,):
            raise ValueError(
                f"A message of kind {self.name} is {self.dtype} [{size}], not {array.dtype} {list(array.shape)}."
            )
        return np.ascontiguousarray(array)

    def empty(self, parameters: int) -> NDArray[Any]:
        return np.empty(parameters if self.values is None else self.values, self.dtype)


MODEL = MessageKind("model", "float32", None, 0)  # down: the shared model
UPDATE = MessageKind("update", "float32", None, 1)  # up: the change of the model in an institution's training
COUNT = MessageKind("count", "int64", 1, 2)  # up: how many images are behind an update
SCORE = MessageKind("score", "float64", 12, 3)  # up: sums of losses and of right answers, see `rank.InstitutionScore`
SHARE = MessageKind("share", "float64", 3, 4)  # up, of a rank: the same sums over its part of the held-out images
REPORT = MessageKind("report", "float64", 3, 5)  # up, of a rank: images read, seconds of training, bytes of memory
CLIPPED = MessageKind("clipped", "int64", 1, 6)  # up, with privacy: 1 where an update was clipped


def home(institution: int, ranks: int) -> int:
    """Return the rank on which an institution lives."""
    return institution % ranks


class InstitutionChannel:
    """One rank's end of the channel; all methods are collective. `bytes_down` and `bytes_up` count the bytes that
    institutions get and send, as over a network; `bytes_up` is complete on the aggregator's rank only."""

    def __init__(self, comm: Any, institutions: int, parameters: int) -> None:
        self.comm, self.institutions, self.parameters = comm, institutions, parameters
        self.bytes_down = 0
        self.bytes_up = 0

    def model(self, vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """Send the aggregator's model to all institutions, and return it. `vector` is None on other ranks."""
        message = MODEL.empty(self.parameters) if vector is None else MODEL.check(vector, self.parameters)
        self.comm.Bcast(message, root=AGGREGATOR)
        self.bytes_down += self.institutions * message.nbytes
        return message

    def from_institutions(
        self, kind: MessageKind, outgoing: Mapping[int, NDArray[Any]], senders: Sequence[int]
    ) -> dict[int, NDArray[Any]]:
        """Return these institutions' messages on the aggregator's rank; nothing on others. `outgoing` has the messages
        of this rank's institutions."""
        received = {}
        for sender in sorted(senders):  # the same order on all ranks, so that no rank waits for a later message
            message = self._up(kind, sender, home(sender, self.comm.size), outgoing.get(sender))
            if message is not None:
                received[sender] = message
                self.bytes_up += message.nbytes
        return received

    def numbers(self, kind: MessageKind, outgoing: Mapping[int, int], senders: Sequence[int]) -> dict[int, int]:
        """Return these institutions' messages of a single number, as `from_institutions` does."""
        arrays = {institution: np.array([number], kind.dtype) for institution, number in outgoing.items()}
        return {sender: int(array[0]) for sender, array in self.from_institutions(kind, arrays, senders).items()}

    def from_ranks(self, kind: MessageKind, outgoing: NDArray[Any]) -> list[NDArray[Any]]:
        """Return every rank's report: [ranks] on the aggregator's rank, empty on others."""
        received = [self._up(kind, rank, rank, outgoing) for rank in range(self.comm.size)]
        return [message for message in received if message is not None]

    def _up(self, kind: MessageKind, sender: int, where: int, outgoing: NDArray[Any] | None) -> NDArray[Any] | None:
        """Return a message of `sender`, whose rank is `where`, on the aggregator's rank; None on others."""
        tag = kind.tag * TAGS + sender
        if where == self.comm.rank:
            assert outgoing is not None
            message = kind.check(outgoing, self.parameters)
            if where == AGGREGATOR:
                return message.copy()
            self.comm.Send(message, dest=AGGREGATOR, tag=tag)
        elif self.comm.rank == AGGREGATOR:
            message = kind.empty(self.parameters)
            self.comm.Recv(message, source=where, tag=tag)
            return message
        return None
