"""Sums of which no part can be read: masks that pairs of institutions agree on, and updates as whole numbers.

Masks are the pairwise part of Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine
Learning" (CCS, doi:10.1145/3133956.3133982). Each pair has a secret from a Diffie-Hellman exchange whose public keys
travel through the aggregator. In a round it makes a stream of 64-bit words of it; the one with the lower number adds
the stream to its words, the other one takes it away, both modulo 2^64. A word with a uniform mask is uniform itself,
whatever it was: a message alone tells nothing. Masks cancel in the sum of all.

Who has agreed on masks and falls silent leaves its masks in the sum. The others then reveal the seeds of that round
which they share with it, never the secrets: so it can be asked again in the next round. Each institution makes a stream
for every other one, as long as its update: the work of all grows with their square.

A value of an update, times the weight of its institution, is rounded to a multiple of 2^-30 and written as a signed
number of 64 bits: a word. Behind an update's words come two more: its weight, and a check by which the aggregator
notices masks that don't cancel.

What this leaves out, and what that gives up:

- No second mask of each institution's own, with shares of its seed among the others. An aggregator that says of
  somebody who did send that it fell silent gets its seeds from the others and can read its update; so can one to whom a
  message comes late. Here it is taken to be honest: it follows the rules, and only looks at what it gets.
- Public keys are not signed. An aggregator that hands out keys of its own reads everything.
- The sum itself is known, and so are its parts to those who know the rest: of two institutions each learns the other's
  update. Noise protects from that (`privacy`), masks don't.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import WorkshopError

KEY, SEED = 256, 32  # bytes of a public key and of a seed of masks
BESIDE = 2  # words of a masked update behind its values: its weight and its check
Words = NDArray[np.uint64]  # [any number], added and taken away modulo 2^64

# Group 14 of RFC 3526 (2048 bits, generator 2): 2^2048 - 2^1984 - 1 + 2^64 ([2^1918 pi] + 124476).
GENERATOR = 2
PRIME = int(
    """
    FFFFFFFF FFFFFFFF C90FDAA2 2168C234 C4C6628B 80DC1CD1 29024E08 8A67CC74 020BBEA6 3B139B22 514A0879 8E3404DD
    EF9519B3 CD3A431B 302B0A6D F25F1437 4FE1356D 6D51C245 E485B576 625E7EC6 F44C42E9 A637ED6B 0BFF5CB6 F406B7ED
    EE386BFB 5A899FA5 AE9F2411 7C4B1FE6 49286651 ECE45B3D C2007CB8 A163BF05 98DA4836 1C55D39A 69163FA8 FD24CF5F
    83655D23 DCA3AD96 1C62F356 208552BB 9ED52907 7096966D 670C354E 4ABC9804 F1746C08 CA18217C 32905E46 2E36CE3B
    E39E772C 180E8603 9B2783A2 EC07A28F B5C55DF0 6F4C52C9 DE2BCBF6 95581718 3995497C EA956AE5 15D22618 98FA0510
    15728E5A 8AACAA68 FFFFFFFF FFFFFFFF
    """.replace(" ", "").replace("\n", ""),
    16,
)
EXPONENT = 320  # bits of a private key: the larger one of those that RFC 3526, section 8, estimates for this group


def private_key() -> int:
    """A fresh one, from the system's randomness."""
    return 1 + secrets.randbelow(2**EXPONENT)


class Member:
    """An institution, counted from 0, as the others know it: by its public key."""

    def __init__(self, number: int, private: int | None = None) -> None:
        """`private` is a key that a test wants; a fresh one otherwise."""
        self.number = number
        self._private = private_key() if private is None else private
        self.public = pow(GENERATOR, self._private, PRIME).to_bytes(KEY, "big")
        self._keys: Mapping[int, bytes] = {}
        self._secrets: dict[int, bytes] = {}

    def meet(self, keys: Mapping[int, bytes]) -> None:
        """Get to know the public keys of others. Raises WorkshopError for one that is none."""
        for number, key in keys.items():
            if not 1 < int.from_bytes(key, "big") < PRIME - 1:  # 1 and -1 would make a secret that everybody knows
                raise WorkshopError(
                    f"The public key that institution {self.number + 1} was given of institution {number + 1} is none "
                    "of the group that was agreed on, so no secret can be made of it; start the run again."
                )
        self._keys, self._secrets = dict(keys), {}

    def seed(self, other: int, number: int) -> bytes:
        """What this institution and another one make their mask of a round from: the same 32 bytes at both."""
        if other not in self._secrets:  # agreed on when they first meet: with many institutions some pairs never do
            shared = pow(int.from_bytes(self._keys[other], "big"), self._private, PRIME)
            self._secrets[other] = shared.to_bytes(KEY, "big")
        pair = sorted((self.number, other))
        told = b"".join(value.to_bytes(8, "big") for value in (*pair, number))
        return hashlib.sha256(b"mask" + told + self._secrets[other]).digest()

    def masked(self, words: Words, number: int, others: Iterable[int]) -> Words:
        """Words with the masks of a round that this institution shares with others."""
        found = words.copy()
        for other in others:
            if other != self.number:
                found += mask(self.number, other, self.seed(other, number), len(words))
        return found


def stream(seed: bytes, length: int) -> Words:
    """Words [length] that only who knows the seed can tell from chance: SHAKE-256 (FIPS 202), the same everywhere."""
    return np.frombuffer(hashlib.shake_256(seed).digest(8 * length), "<u8").astype(np.uint64, copy=False)


def mask(institution: int, other: int, seed: bytes, length: int) -> Words:
    """What an institution adds to its words for a pair of which it is one; the other one adds the opposite."""
    words = stream(seed, length)
    return words if institution < other else np.negative(words)


BITS = 30  # behind the point
LARGEST = 2.0**14  # value of an update that can be written
HEAVIEST = 2**19  # weight of all together: 2^30 2^14 2^19 is what a signed word holds
NO_NUMBER, READY, TOO_LARGE = 0, 1, 2


def readiness(update: NDArray[np.float32]) -> int:
    """Whether an update can be written so: READY, or why not. A value that is no number has no word."""
    if not np.isfinite(update).all():
        return NO_NUMBER
    return READY if float(np.abs(update).max(initial=0.0)) <= LARGEST else TOO_LARGE


def encode(update: NDArray[np.float32], weight: int) -> Words:
    """An update times its weight as words [parameters + 2]. Raises ValueError for an update that is not READY and for a
    weight below 1 or above what all together may have."""
    if readiness(update) != READY or not 1 <= weight < HEAVIEST:
        raise ValueError(f"An update of weight {weight} whose values are up to {np.abs(update).max()} has no words.")
    words = np.empty(len(update) + BESIDE, np.uint64)
    # Exact but for the last rounding: 24 bits of a value and 19 of a weight have room in a float64.
    words[:-BESIDE] = np.rint(update.astype(np.float64) * float(weight) * 2.0**BITS).astype(np.int64).view(np.uint64)
    words[-2] = weight
    words[-1] = check(words[:-1])
    return words


def check(words: Words) -> np.uint64:
    """A sum of words with fixed odd factors, modulo 2^64, which is masked and added up like any other word. Where masks
    don't cancel, it fits by chance once in 2^64 times. It finds mistakes, not deceit."""
    return (words * _factors(len(words))).sum(dtype=np.uint64)


@lru_cache(maxsize=2)
def _factors(length: int) -> Words:
    factors = stream(b"check", length) | np.uint64(1)
    factors.flags.writeable = False
    return factors


@dataclass(frozen=True)
class WeightedSum:
    """What words add up to: values, int64 [parameters] in multiples of 2^-30; the weight; whether all masks are
    gone."""

    values: NDArray[np.int64]
    weight: int
    cancelled: bool

    def mean(self, weight: int | None = None) -> NDArray[np.float64]:
        """The weighted mean, float64 [parameters]; `weight` replaces the one in the sum where masks spoiled that."""
        return self.values / (2.0**BITS * float(self.weight if weight is None else weight))


def decode(words: Words) -> WeightedSum:
    """What a sum of words holds."""
    signed = words.view(np.int64)
    weight = int(signed[-2])
    cancelled = bool(check(words[:-1]) == words[-1]) and 0 < weight < HEAVIEST
    return WeightedSum(signed[:-BESIDE], weight, cancelled)


def histogram(words: Words, parts: int = 16) -> list[float]:
    """Shares of words, read as signed numbers, in equal parts of all that a word can be, from the lowest on."""
    from_lowest = words ^ np.uint64(1 << 63)
    counts = np.bincount((from_lowest // np.uint64(2**64 // parts)).astype(np.int64), minlength=parts)
    return (counts / max(len(words), 1)).tolist()
