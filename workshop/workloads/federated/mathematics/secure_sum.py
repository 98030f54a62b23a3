"""Sums whose parts are hidden: masks that pairs of institutions agree on, and updates as whole numbers.

Masks are the pairwise part of Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine
Learning" (CCS, doi:10.1145/3133956.3133982). Each pair has a secret from a Diffie-Hellman exchange whose public keys
travel through the aggregator. In each round, both derive the same stream of 64-bit words from the secret. The
institution with the lower number adds the stream to its words, the other one subtracts it, both modulo 2^64. A word
with a uniform mask is uniform itself, so a single message reveals nothing. In the sum of all, masks cancel.

An institution that has agreed on masks and then falls silent leaves its masks in the sum. The others then reveal the
seeds of that round that they share with it, never the secrets, so it can take part in the next round. Each institution
makes a stream for every other one, as long as its update: the total work grows with the square of their number.

A value of an update, times the weight of its institution, is rounded to a multiple of 2^-30 and written as a signed
number of 64 bits: a word. Two more words follow: the weight, and a check by which the aggregator notices masks that
don't cancel.

Limits of this protocol:

- Institutions have no second mask of their own, with shares of its seed among the others. If the aggregator falsely
  claims that an institution fell silent, or if a message arrives late, it gets that institution's seeds from the others
  and can read its update. So the aggregator has to be honest: it follows the rules, and only looks at what it gets.
- Public keys are not signed. An aggregator that hands out its own keys reads everything.
- The sum itself is known. From the sum and all other updates, the last one can be computed: with two institutions, each
  learns the other's update. Noise protects from that (`privacy`), masks don't.
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
Words = NDArray[np.uint64]  # [any number], added and subtracted modulo 2^64

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
EXPONENT = 320  # bits of a private key: the larger estimate for this group in RFC 3526, section 8


def private_key() -> int:
    """Return a new private key, from the system's randomness."""
    return 1 + secrets.randbelow(2**EXPONENT)


class Member:
    """An institution, counted from 0, with its keys and the secrets that it shares with others."""

    def __init__(self, number: int, private: int | None = None) -> None:
        """`private` is the private key; a new one by default."""
        self.number = number
        self._private = private_key() if private is None else private
        self.public = pow(GENERATOR, self._private, PRIME).to_bytes(KEY, "big")
        self._keys: Mapping[int, bytes] = {}
        self._secrets: dict[int, bytes] = {}

    def meet(self, keys: Mapping[int, bytes]) -> None:
        """Take the public keys of others. Raises WorkshopError for an invalid one."""
        for number, key in keys.items():
            if not 1 < int.from_bytes(key, "big") < PRIME - 1:  # 1 and -1 would make a secret that everybody knows
                raise WorkshopError(
                    f"The public key of institution {number + 1} that institution {self.number + 1} got is not in the "
                    "agreed group, so no secret can be made from it; start the run again."
                )
        self._keys, self._secrets = dict(keys), {}

    def seed(self, other: int, number: int) -> bytes:
        """Return the seed of the mask that this institution and another one share in a round: 32 bytes."""
        if other not in self._secrets:  # only when needed: with many institutions some pairs never share a round
            shared = pow(int.from_bytes(self._keys[other], "big"), self._private, PRIME)
            self._secrets[other] = shared.to_bytes(KEY, "big")
        pair = sorted((self.number, other))
        context = b"".join(value.to_bytes(8, "big") for value in (*pair, number))
        return hashlib.sha256(b"mask" + context + self._secrets[other]).digest()

    def masked(self, words: Words, number: int, others: Iterable[int]) -> Words:
        """Return the words plus the masks of a round that this institution shares with others."""
        masked_words = words.copy()
        for other in others:
            if other != self.number:
                masked_words += mask(self.number, other, self.seed(other, number), len(words))
        return masked_words


def stream(seed: bytes, length: int) -> Words:
    """Return pseudorandom words [length] from a seed: SHAKE-256 (FIPS 202), the same on every machine."""
    return np.frombuffer(hashlib.shake_256(seed).digest(8 * length), "<u8").astype(np.uint64, copy=False)


def mask(institution: int, other: int, seed: bytes, length: int) -> Words:
    """Return the mask that an institution adds for another one, which adds the opposite."""
    words = stream(seed, length)
    return words if institution < other else np.negative(words)


BITS = 30  # binary digits after the point
LARGEST = 2.0**14  # the largest value of an update that can be written
HEAVIEST = 2**19  # the largest sum of weights: 2^30 2^14 2^19 is the range of a signed word
NO_NUMBER, READY, TOO_LARGE = 0, 1, 2


def readiness(update: NDArray[np.float32]) -> int:
    """Return whether an update can be written as words: READY, NO_NUMBER or TOO_LARGE."""
    if not np.isfinite(update).all():
        return NO_NUMBER
    return READY if float(np.abs(update).max(initial=0.0)) <= LARGEST else TOO_LARGE


def encode(update: NDArray[np.float32], weight: int) -> Words:
    """Return an update times its weight as words [parameters + 2]. Raises ValueError for an update that is not READY,
    and for a weight that is not from 1 to below `HEAVIEST`."""
    if readiness(update) != READY or not 1 <= weight < HEAVIEST:
        raise ValueError(f"An update of weight {weight} whose values are up to {np.abs(update).max()} has no words.")
    words = np.empty(len(update) + BESIDE, np.uint64)
    # Exact up to the last rounding: 24 bits of a value and 19 of a weight fit into a float64.
    words[:-BESIDE] = np.rint(update.astype(np.float64) * float(weight) * 2.0**BITS).astype(np.int64).view(np.uint64)
    words[-2] = weight
    words[-1] = check(words[:-1])
    return words


def check(words: Words) -> np.uint64:
    """Return the sum of words times fixed odd factors, modulo 2^64. It is masked and added up like any other word.
    Where masks don't cancel, it matches by chance once in 2^64 times. It detects mistakes, not deceit."""
    return (words * _factors(len(words))).sum(dtype=np.uint64)


@lru_cache(maxsize=2)
def _factors(length: int) -> Words:
    factors = stream(b"check", length) | np.uint64(1)
    factors.flags.writeable = False
    return factors


@dataclass(frozen=True)
class WeightedSum:
    """A decoded sum of words: `values`, int64 [parameters] in multiples of 2^-30, and `weight` are sums; `cancelled`
    says whether all masks are gone."""

    values: NDArray[np.int64]
    weight: int
    cancelled: bool

    def mean(self, weight: int | None = None) -> NDArray[np.float64]:
        """Return the weighted mean, float64 [parameters]. `weight` replaces the sum's weight where masks spoiled it."""
        return self.values / (2.0**BITS * float(self.weight if weight is None else weight))


def decode(words: Words) -> WeightedSum:
    """Decode a sum of words."""
    signed = words.view(np.int64)
    weight = int(signed[-2])
    cancelled = bool(check(words[:-1]) == words[-1]) and 0 < weight < HEAVIEST
    return WeightedSum(signed[:-BESIDE], weight, cancelled)


def histogram(words: Words, parts: int = 16) -> list[float]:
    """Return the shares of words, as signed numbers, in `parts` equal ranges of all values, from the lowest on."""
    from_lowest = words ^ np.uint64(1 << 63)
    counts = np.bincount((from_lowest // np.uint64(2**64 // parts)).astype(np.int64), minlength=parts)
    return (counts / max(len(words), 1)).tolist()
