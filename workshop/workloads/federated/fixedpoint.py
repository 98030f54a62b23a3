"""Updates as whole numbers, so that they can be masked and their sums are exact.

A value of an update, times the weight of its institution, is rounded to a multiple of 2^-30 and written as a signed
number of 64 bits: a word. Words are added modulo 2^64, in which order doesn't matter and nothing is rounded. Behind an
update's words come two more: its weight, and a check by which the aggregator notices masks that don't cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.messages import BESIDE
from workshop.workloads.federated.secure import Words, stream

BITS = 30  # behind the point
LARGEST = 2.0**14  # value of an update that can be written
HEAVIEST = 2**19  # weight of all together: 2^30 2^14 2^19 is what a signed word holds
NO_NUMBER, READY, TOO_LARGE = 0, 1, 2


def state(update: NDArray[np.float32]) -> int:
    """Whether an update can be written so: READY, or why not. A value that is no number has no word."""
    if not np.isfinite(update).all():
        return NO_NUMBER
    return READY if float(np.abs(update).max(initial=0.0)) <= LARGEST else TOO_LARGE


def written(update: NDArray[np.float32], weight: int) -> Words:
    """An update times its weight, float32 [parameters], as words [parameters + 2]. Raises ValueError for an update that
    is not READY and for a weight below 1 or above what all together may have."""
    if state(update) != READY or not 1 <= weight < HEAVIEST:
        raise ValueError(f"An update of weight {weight} whose values are up to {np.abs(update).max()} has no words.")
    words = np.empty(len(update) + BESIDE, np.uint64)
    # Exact but for the last rounding: 24 bits of a value and 19 of a weight have room in a float64.
    words[:-BESIDE] = np.rint(update.astype(np.float64) * float(weight) * 2.0**BITS).astype(np.int64).view(np.uint64)
    words[-2] = weight
    words[-1] = check(words[:-1])
    return words


def check(words: Words) -> np.uint64:
    """A sum of words with fixed odd factors, modulo 2^64. The check of a sum is the sum of the checks, so it is masked
    and added up like any other word. Where masks don't cancel, it fits by chance once in 2^64 times. It finds mistakes;
    who wants to deceive can make another one that fits."""
    return (words * _factors(len(words))).sum(dtype=np.uint64)


@lru_cache(maxsize=2)
def _factors(length: int) -> Words:
    factors = stream(b"check", length) | np.uint64(1)
    factors.flags.writeable = False
    return factors


@dataclass(frozen=True)
class Sum:
    """What words add up to: values, int64 [parameters] in multiples of 2^-30; the weight; and whether both are what was
    written, or masks are left in them."""

    values: NDArray[np.int64]
    weight: int
    cancelled: bool

    def mean(self, weight: int | None = None) -> NDArray[np.float64]:
        """The weighted mean of the updates, float64 [parameters]; of another weight than the one that is in the sum
        where that can't be believed."""
        return self.values / (2.0**BITS * float(self.weight if weight is None else weight))


def read(words: Words) -> Sum:
    """What a sum of words holds."""
    signed = words.view(np.int64)
    weight = int(signed[-2])
    cancelled = bool(check(words[:-1]) == words[-1]) and 0 < weight < HEAVIEST
    return Sum(signed[:-BESIDE], weight, cancelled)


def spread(words: Words, parts: int = 16) -> list[float]:
    """Shares of words, read as signed numbers, in so many equal parts of all that a word can be, from the lowest on. Of
    noise each part has as many; words of updates all lie in the two in the middle."""
    from_lowest = words ^ np.uint64(1 << 63)
    counts = np.bincount((from_lowest // np.uint64(2**64 // parts)).astype(np.int64), minlength=parts)
    return (counts / max(len(words), 1)).tolist()
