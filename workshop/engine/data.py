"""Arrays in npz files, and the share of examples that each rank holds."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput


class DamagedFile(BadInput):
    """A file whose contents aren't what they should be."""

    def __init__(self, name: str, data: bytes, what: str, right: str = "get it anew from where it came") -> None:
        super().__init__(f"{name} (sha256 {hashlib.sha256(data).hexdigest()[:16]}) {what}; {right}.")


def read_npz(data: bytes, name: str, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays of these names. `name` is for messages. Raises BadInput."""
    try:
        with np.load(io.BytesIO(data)) as archive:
            if missing := [key for key in keys if key not in archive.files]:
                raise DamagedFile(
                    name, data, f"has no {' and no '.join(missing)}", f"give an npz file with {', '.join(keys)}"
                )
            return {key: np.require(archive[key]) for key in keys}
    except DamagedFile:
        raise
    except Exception as error:  # from damaged bytes, zipfile and NumPy's parser of headers raise nearly anything
        what = str(error).splitlines()[0].partition(". ")[0].rstrip(".") if str(error) else type(error).__name__
        raise DamagedFile(
            name, data, f"can't be read as npz: {what[:160]}", "give a file that numpy.savez wrote"
        ) from None


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
