"""Updates in fewer bytes: what is sent of one, and what the aggregator makes of that. Pure functions of arrays.

Both codecs lose something. `TopK` sends a few values only, and what it leaves out is added to the next update
(`Feedback`); `EightBit` sends all of them coarsely, rounded up or down by chance so that the mean stays what it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.communication.messages import CODES, UPDATE, MessageKind
from workshop.workloads.federated.params import Learning

Vector = NDArray[np.float32]  # [parameters]
Encoded = Mapping[str, NDArray[Any]]  # what is sent of an update, by the name of its kind
BLOCK = 256  # values that have a scale in common
LEVELS = 127  # of a value in eight bits, on either side of 0


class Codec(Protocol):
    """`kinds` are those of its messages, in the order in which they are sent."""

    kinds: tuple[MessageKind, ...]

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded: ...

    def decode(self, sent: Encoded) -> Vector: ...


def codec(params: Learning, parameters: int) -> Codec:
    """The one that a run's params ask for."""
    if params.compression == "topk":
        return TopK(parameters, params.keep)
    return EightBit(parameters) if params.compression == "8bit" else Whole()


class Whole:
    """An update as it is."""

    kinds = (UPDATE,)

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded:
        return {UPDATE.name: update}

    def decode(self, sent: Encoded) -> Vector:
        return sent[UPDATE.name]


class TopK:
    """The largest values and where they stand; all others are 0 (Stich et al. 2018, arXiv:1809.07599; Lin et al. 2018,
    arXiv:1712.01887). A value takes four bytes and its place four more."""

    def __init__(self, parameters: int, keep: float) -> None:
        """`keep` is the share that is sent: at least one value."""
        self.parameters = parameters
        self.count = max(math.floor(keep * parameters + 0.5), 1)
        self._values, self._places = messages.values(self.count), messages.places(self.count)
        self.kinds = (self._values, self._places)

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded:
        """Values that are no numbers count as the largest, so that they are noticed."""
        sizes = np.nan_to_num(np.abs(update), nan=np.inf)
        places = np.sort(np.argpartition(sizes, self.parameters - self.count)[self.parameters - self.count :])
        return {self._values.name: update[places], self._places.name: places.astype(np.uint32)}

    def decode(self, sent: Encoded) -> Vector:
        """No numbers where the places are none that `encode` gives: then the institution is named and left out."""
        places = sent[self._places.name].astype(np.int64)
        if places[-1] >= self.parameters or (np.diff(places) <= 0).any():
            return np.full(self.parameters, np.nan, np.float32)
        update = np.zeros(self.parameters, np.float32)
        update[places] = sent[self._values.name]
        return update


class EightBit:
    """Every value as a whole number from -127 to 127 times a 127th of the largest of 256 neighbours, rounded by chance
    so that its mean stays (QSGD: Alistarh et al. 2017, arXiv:1610.02132, with the largest value as the norm)."""

    def __init__(self, parameters: int) -> None:
        self.parameters = parameters
        self._scales = messages.scales(math.ceil(parameters / BLOCK))
        self.kinds = (CODES, self._scales)

    def encode(self, update: Vector, chance: np.random.RandomState) -> Encoded:
        """A block with a value that is no number has a scale that is none."""
        blocks = self._blocks(update.astype(np.float64))
        scales = np.abs(blocks).max(axis=1)
        sound = np.isfinite(scales) & (scales > 0)
        shares = np.zeros_like(blocks)
        shares[sound] = blocks[sound] / scales[sound, None] * LEVELS
        # Not the floor of both added up: a chance just below 1 would make 128 of 127, for which there is no room.
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
        """[blocks, 256], the last one filled up with zeros."""
        padded = np.zeros(math.ceil(self.parameters / BLOCK) * BLOCK)
        padded[: self.parameters] = values
        return padded.reshape(-1, BLOCK)


class Feedback:
    """Error feedback (Stich et al. 2018, algorithm 1): what messages have left out is added to the institution's next
    update."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.left: dict[int, Vector] = {}

    def encode(self, institution: int, update: Vector, chance: np.random.RandomState) -> Encoded:
        """What an institution sends of an update. One that is no number is sent alone, and nothing is kept of it."""
        if not isinstance(self.codec, TopK):  # what is rounded without bias, needs no memory
            return self.codec.encode(update, chance)
        whole = update + self.left[institution] if institution in self.left else update
        sent = self.codec.encode(whole, chance)
        if np.isfinite(whole).all():
            self.left[institution] = whole - self.codec.decode(sent)
        return sent
