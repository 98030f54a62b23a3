"""Codecs that send updates in fewer bytes: `encode` at the institution, `decode` at the aggregator.

`TopK` and `EightBit` lose precision. `TopK` sends the largest values only; `Feedback` adds the rest to the next update.
`EightBit` sends all values in eight bits; it rounds up or down at random, so that the mean stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.communication.messages import CODES, UPDATE, MessageKind
from workshop.workloads.federated.mathematics.aggregation import Vector
from workshop.workloads.federated.params import Learning

Encoded = Mapping[str, NDArray[Any]]  # the messages of an update, by the names of their kinds
BLOCK = 256  # values that share a scale
LEVELS = 127  # levels of a value in eight bits, on either side of 0


class Codec(Protocol):
    """`kinds` are the kinds of its messages, in the order in which they are sent."""

    @property
    def kinds(self) -> tuple[MessageKind, ...]: ...

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded: ...

    def decode(self, sent: Encoded) -> Vector: ...


def codec(params: Learning, parameters: int) -> Codec:
    """Return the codec of a run."""
    if params.compression == "topk":
        return TopK(parameters, params.keep)
    return EightBit(parameters) if params.compression == "8bit" else Uncompressed()


class Uncompressed:
    """Sends an update as it is."""

    kinds = (UPDATE,)

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded:
        return {UPDATE.name: update}

    def decode(self, sent: Encoded) -> Vector:
        return sent[UPDATE.name]


class TopK:
    """Sends the largest values and their places; all others become 0 (Stich et al. 2018, arXiv:1809.07599; Lin et al.
    2018, arXiv:1712.01887). A value takes four bytes and its place four more."""

    def __init__(self, parameters: int, keep: float) -> None:
        """`keep` is the share of the values that is sent, but at least one value."""
        self.parameters = parameters
        self.count = max(math.floor(keep * parameters + 0.5), 1)
        self._values, self._places = messages.values(self.count), messages.places(self.count)
        self.kinds = (self._values, self._places)

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded:
        """Values that are not numbers count as the largest, so the aggregator gets and notices them."""
        sizes = np.nan_to_num(np.abs(update), nan=np.inf)
        places = np.sort(np.argpartition(sizes, self.parameters - self.count)[self.parameters - self.count :])
        return {self._values.name: update[places], self._places.name: places.astype(np.uint32)}

    def decode(self, sent: Encoded) -> Vector:
        """Return NaN for places that `encode` can't give: the aggregator then names and drops the institution."""
        places = sent[self._places.name].astype(np.int64)
        if places[-1] >= self.parameters or (np.diff(places) <= 0).any():
            return np.full(self.parameters, np.nan, np.float32)
        update = np.zeros(self.parameters, np.float32)
        update[places] = sent[self._values.name]
        return update


class EightBit:
    """Sends each value as a whole number from -127 to 127, times a 127th of the largest of 256 neighbours. Rounding is
    random and unbiased (QSGD: Alistarh et al. 2017, arXiv:1610.02132, with the largest value as the norm)."""

    def __init__(self, parameters: int) -> None:
        self.parameters = parameters
        self._scales = messages.scales(math.ceil(parameters / BLOCK))
        self.kinds = (CODES, self._scales)

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded:
        """A block with a value that is not a number gets the scale NaN."""
        blocks = self._blocks(update.astype(np.float64))
        scales = np.abs(blocks).max(axis=1)
        sound = np.isfinite(scales) & (scales > 0)
        shares = np.zeros_like(blocks)
        shares[sound] = blocks[sound] / scales[sound, None] * LEVELS
        # Not floor(shares + chances): rounding may turn 127 plus a chance just below 1 into 128, which int8 can't hold.
        below, chances = np.floor(shares), self._blocks(chance.random_sample(self.parameters))
        codes = below + (chances >= 1 - (shares - below))
        return {
            CODES.name: codes.reshape(-1)[: self.parameters].astype(np.int8),
            self._scales.name: np.where(np.isfinite(scales), scales, np.nan).astype(np.float32),
        }

    def decode(self, sent: Encoded) -> Vector:
        blocks = self._blocks(sent[CODES.name].astype(np.float64))
        values = blocks * sent[self._scales.name].astype(np.float64)[:, None] / LEVELS
        return values.reshape(-1)[: self.parameters].astype(np.float32)

    def _blocks(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values as [blocks, 256], padded with zeros."""
        padded = np.zeros(math.ceil(self.parameters / BLOCK) * BLOCK)
        padded[: self.parameters] = values
        return padded.reshape(-1, BLOCK)


class Feedback:
    """Error feedback (Stich et al. 2018, algorithm 1): the part of an update that wasn't sent is added to the
    institution's next update."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.remainders: dict[int, Vector] = {}

    def encode(self, institution: int, update: Vector, chance: np.random.RandomState) -> Encoded:
        """Return an institution's messages. An update with a value that is not a number leaves no remainder."""
        if not isinstance(self.codec, TopK):  # rounding without bias needs no feedback
            return self.codec.encode(update, chance)
        total = update + self.remainders[institution] if institution in self.remainders else update
        sent = self.codec.encode(total, chance)
        if np.isfinite(total).all():
            self.remainders[institution] = total - self.codec.decode(sent)
        return sent
