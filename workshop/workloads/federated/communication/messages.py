"""All that travels between institutions and the aggregator, and nothing else does: models down; updates (as they are,
compressed or masked), how many images are behind them, and scores up; and what institutions need to agree on masks.

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

from workshop.workloads.federated.mathematics.secure_sum import BESIDE, KEY, SEED

AGGREGATOR = 0  # its rank
TAGS = 1000  # between those of one kind and of the next


@dataclass(frozen=True)
class MessageKind:
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


MODEL = MessageKind("model", "float32", None, 0)  # down: the shared model
UPDATE = MessageKind("update", "float32", None, 1)  # up: what an institution's training has added to it
COUNT = MessageKind("count", "int64", 1, 2)  # up: how many images are behind an update
SCORE = MessageKind("score", "float64", 12, 3)  # up: sums of losses and of right answers over images, see `rank.Score`
SHARE = MessageKind("share", "float64", 3, 4)  # up, of a rank: the same of its part of the held-out images
REPORT = MessageKind("report", "float64", 3, 5)  # up, of a rank: images read, seconds of training, bytes of memory
READY = MessageKind("ready", "uint8", 1, 6)  # up: whether an update can be masked, see `secure_sum.readiness`
PUBLIC_KEY = MessageKind("public key", "uint8", KEY, 7)  # up, once
PAIR_SEED = MessageKind(
    "pair seed", "uint8", SEED, 8
)  # up: what a mask shared with somebody who fell silent is made from
CODES = MessageKind("codes", "int8", None, 9)  # up: an update's values in eight bits each
CUT = MessageKind("cut", "float64", 2, 16)  # up, with privacy: how many updates or gradients were clipped, of how many
KINDS = (MODEL, UPDATE, COUNT, SCORE, SHARE, REPORT, READY, PUBLIC_KEY, PAIR_SEED, CODES, CUT)


def public_keys(institutions: int) -> MessageKind:
    """Down, once: the keys of all, one after the other."""
    return MessageKind("public keys", "uint8", KEY * institutions, 10)


def missing(institutions: int) -> MessageKind:
    """Down: for each institution 1 where the others are to reveal what they share with it, 0 elsewhere."""
    return MessageKind("missing", "uint8", institutions, 11)


def masked(parameters: int) -> MessageKind:
    """Up: an update of which nothing can be read."""
    return MessageKind("masked update", "uint64", parameters + BESIDE, 12)


def scales(count: int) -> MessageKind:
    """Up: what `CODES` are to be multiplied by, block by block."""
    return MessageKind("scales", "float32", count, 13)


def values(count: int) -> MessageKind:
    """Up: the largest values of an update."""
    return MessageKind("values", "float32", count, 14)


def places(count: int) -> MessageKind:
    """Up: where in the update they stand."""
    return MessageKind("places", "uint32", count, 15)


def home(institution: int, ranks: int) -> int:
    """The rank on which an institution lives."""
    return institution % ranks


class InstitutionChannel:
    """One rank's end of the channel; all methods are collective. `bytes_down` and `bytes_up` count what institutions
    send and get, as over a network; `moved` what this rank has handed to MPI. `sent` has messages and bytes by
    direction and kind, complete on the aggregator's rank."""

    def __init__(self, comm: Any, institutions: int, parameters: int) -> None:
        self.comm, self.institutions, self.parameters = comm, institutions, parameters
        self.bytes_down = 0
        self.bytes_up = 0
        self.moved = 0
        self.sent: dict[tuple[str, str], tuple[int, int]] = {}

    def model(self, vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """The aggregator's model, for all institutions."""
        return self.to_institutions(MODEL, vector, self.institutions)

    def to_institutions(self, kind: MessageKind, told: NDArray[Any] | None, receivers: int) -> NDArray[Any]:
        """What the aggregator tells so many institutions, the same to each; `told` is None on other ranks."""
        here = self.comm.rank == AGGREGATOR
        message = kind.empty(self.parameters)
        if here:
            assert told is not None
            message = kind.check(told, self.parameters)
        self.comm.Bcast(message, root=AGGREGATOR)
        self.bytes_down += receivers * message.nbytes
        self._count("down", kind, receivers, receivers * message.nbytes)
        self.moved += (self.comm.size - 1) * message.nbytes if here else 0
        return message

    def from_institutions(
        self, kind: MessageKind, mine: Mapping[int, NDArray[Any]], senders: Sequence[int]
    ) -> dict[int, NDArray[Any]]:
        """What these institutions tell the aggregator, on its rank; empty on others. `mine` are the messages from this
        rank."""
        found = {}
        for sender in sorted(senders):  # all in the same order, so that nobody waits for a message that comes later
            if message := self.from_institution([kind], sender, {kind.name: mine.get(sender)}):
                found[sender] = message[kind.name]
        return found

    def from_institution(
        self, kinds: Sequence[MessageKind], sender: int, mine: Mapping[str, NDArray[Any] | None]
    ) -> dict[str, NDArray[Any]]:
        """Messages of one institution by kind, on the aggregator's rank; empty on others. Only its home looks at
        `mine`."""
        found = {}
        for kind in kinds:
            message = self._up(kind, sender, home(sender, self.comm.size), mine.get(kind.name))
            if message is not None:
                found[kind.name] = message
                self.bytes_up += message.nbytes
                self._count("up", kind, 1, message.nbytes)
        return found

    def from_ranks(self, kind: MessageKind, mine: NDArray[Any]) -> list[NDArray[Any]]:
        """What every rank tells of its own work for the aggregator: [ranks] on its rank, empty on others."""
        told = [self._up(kind, rank, rank, mine) for rank in range(self.comm.size)]
        return [message for message in told if message is not None]

    def _up(self, kind: MessageKind, sender: int, where: int, mine: NDArray[Any] | None) -> NDArray[Any] | None:
        """A message on the aggregator's rank, None on others: from `sender`, whose rank is `where`."""
        tag = kind.tag * TAGS + sender
        if where == self.comm.rank:
            assert mine is not None
            message = kind.check(mine, self.parameters)
            if where == AGGREGATOR:
                return message.copy()
            self.comm.Send(message, dest=AGGREGATOR, tag=tag)
            self.moved += message.nbytes
        elif self.comm.rank == AGGREGATOR:
            message = kind.empty(self.parameters)
            self.comm.Recv(message, source=where, tag=tag)
            return message
        return None

    def _count(self, direction: str, kind: MessageKind, messages: int, size: int) -> None:
        before, bytes_before = self.sent.get((direction, kind.name), (0, 0))
        self.sent[direction, kind.name] = (before + messages, bytes_before + size)
