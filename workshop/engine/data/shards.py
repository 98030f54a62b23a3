"""Which share of a data set a rank owns: shards are disjoint, cover everything and differ in size by at most one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def shard(count: int, size: int, rank: int) -> tuple[int, int]:
    """Begin and end of the contiguous share of `count` things that `rank` of `size` ranks owns."""
    each, more = divmod(count, size)
    begin = rank * each + min(rank, more)
    return begin, begin + each + (rank < more)


def blocks(first: int, end: int, size: int) -> Iterator[tuple[int, slice, slice]]:
    """Divide things `first` to `end` into parts, which lie in blocks of `size` each: yields the block's number, the
    part's place in the block, and its place among the things."""
    for number in range(first // size, -(-end // size)):
        start = number * size
        begin, stop = max(first - start, 0), min(end - start, size)
        yield number, slice(begin, stop), slice(start + begin - first, start + stop - first)


def order(count: int, seed: int | Sequence[int]) -> NDArray[np.int64]:
    """A shuffled order of `count` things, (count,): the same for the same seed on every machine.

    Things are sorted by raw draws of PCG64. NumPy keeps the draws of a seeded bit generator the same for ever, but not
    what `Generator.permutation` makes of them (NEP 19), and ranks on several hosts may have several NumPys.
    """
    draws = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(count)
    return np.argsort(draws, kind="stable").astype(np.int64, copy=False)


def shard_indices(count: int, size: int, rank: int, seed: int | Sequence[int]) -> NDArray[np.int64]:
    """The share of `order(count, seed)` that belongs to `rank` of `size` ranks."""
    return order(count, seed)[slice(*shard(count, size, rank))]
