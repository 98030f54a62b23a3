"""Gradients in fewer bytes: the mean over all ranks of a vector that each rank sends in a shorter format.

A rank adds what a format loses in a step to the next step's gradients (error feedback: Seide et al., 1-bit stochastic
gradient descent, Interspeech 2014; Karimireddy et al., arXiv:1901.09847).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FORMATS = ("none", "float16", "bfloat16", "8bit", "topk")
BLOCK = 256  # values of int8 that share a scale

Vector = NDArray[np.floating]
Code = NDArray[np.uint8]


class Collectives(Protocol):
    """The part of a communicator of mpi4py that compression needs."""

    size: int

    def Alltoall(self, sent: Any, received: Any) -> None: ...

    def Allgather(self, sent: Any, received: Any) -> None: ...


class Compression(Protocol):
    """A way to average compressed vectors."""

    def bytes(self, values: int) -> int:
        """The bytes that a rank hands over for so many values."""

    def average(self, comm: Collectives, vector: Vector, key: int) -> Vector:
        """The mean over all ranks of a vector (n,), the same bits on each. Losses are kept under `key`: a number for
        each vector of a step. Collective."""


class ShortFormat:
    """Every value in a shorter format, added up in float32.

    Each rank averages its part of the vector and sends the mean to all, again in the format (as in the compressed
    all-reduce of Tang et al., 1-bit Adam, arXiv:2102.02888).
    """

    def __init__(self, name: str) -> None:
        import ml_dtypes

        self.name = name
        self._dtype = np.dtype({"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}.get(name, np.int8))
        self._lost: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}  # of the vector, of the mean

    def bytes(self, values: int) -> int:
        scales = -(-values // BLOCK) if self.name == "8bit" else 0
        return values * int(self._dtype.itemsize) + 4 * scales

    def average(self, comm: Collectives, vector: Vector, key: int) -> Vector:
        length = -(-len(vector) // (comm.size * BLOCK)) * BLOCK  # of a rank's part
        if key not in self._lost:
            self._lost[key] = np.zeros((comm.size, length), np.float32), np.zeros((1, length), np.float32)
        lost, lost_of_mean = self._lost[key]
        parts = np.zeros((comm.size, length), np.float32)
        parts.reshape(-1)[: len(vector)] = vector
        parts += lost
        sent = self.encode(parts)
        lost[:] = parts - self.decode(sent)
        received = np.empty_like(sent)
        comm.Alltoall(sent, received)
        mean = self.decode(received).mean(axis=0, dtype=np.float32)[None] + lost_of_mean
        sent = self.encode(mean)
        lost_of_mean[:] = mean - self.decode(sent)
        comm.Allgather(sent, received)
        averaged: Vector = self.decode(received).reshape(-1)[: len(vector)].astype(vector.dtype)
        return averaged

    def encode(self, values: NDArray[np.float32]) -> Code:
        """Rows of values (m, n), n a multiple of `BLOCK`, as bytes (m, bytes of a row).

        8bit has a scale for each block: q = round(x / s) with s = max |x| / 127, so that an error is at most s / 2.
        """
        with np.errstate(all="ignore"):  # a gradient that is no number stays one, and the run says that it diverged
            if self.name != "8bit":
                return values.astype(self._dtype).view(np.uint8)
            blocks = values.reshape(len(values), -1, BLOCK)
            scales = np.abs(blocks).max(axis=2) / np.float32(127)
            codes = np.rint(blocks / np.where(scales > 0, scales, 1)[..., None]).astype(np.int8)
        rows = len(values)
        return np.concatenate([scales.view(np.uint8).reshape(rows, -1), codes.view(np.uint8).reshape(rows, -1)], axis=1)

    def decode(self, code: Code) -> NDArray[np.float32]:
        """The values (m, n) of an encoding."""
        if self.name != "8bit":
            return np.asarray(code.view(self._dtype), np.float32)
        count = code.shape[1] // (BLOCK + 4)
        scales = np.ascontiguousarray(code[:, : 4 * count]).view(np.float32)
        codes = np.ascontiguousarray(code[:, 4 * count :]).view(np.int8).reshape(len(code), count, BLOCK)
        with np.errstate(all="ignore"):
            values: NDArray[np.float32] = (codes * scales[..., None]).reshape(len(code), -1)
        return values


class LargestValues:
    """Only the largest values, with their positions (Lin et al., Deep gradient compression, arXiv:1712.01887). The
    others are kept and added to the next step's."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._lost: dict[int, NDArray[np.float32]] = {}

    def _count(self, values: int) -> int:
        return min(max(round(values * self.share), 1), values)

    def bytes(self, values: int) -> int:
        return 8 * self._count(values)

    def average(self, comm: Collectives, vector: Vector, key: int) -> Vector:
        count = self._count(len(vector))
        values = vector.astype(np.float32) + self._lost.get(key, np.float32(0))
        chosen = np.argpartition(np.abs(values), len(values) - count)[len(values) - count :].astype(np.int32)
        sent = np.stack([chosen, values[chosen].view(np.int32)])
        values[chosen] = 0
        self._lost[key] = values
        received = np.empty((comm.size, 2, count), np.int32)
        comm.Allgather(sent, received)
        total = np.zeros_like(vector)
        for positions, bits in received:  # a rank names no position twice
            total[positions] += bits.view(np.float32)
        return total / comm.size


def compression(name: str, share: float) -> Compression | None:
    """The compression of that name in `FORMATS`; None for none. `share` is that of the values which topk sends."""
    if name == "none":
        return None
    return LargestValues(share) if name == "topk" else ShortFormat(name)
