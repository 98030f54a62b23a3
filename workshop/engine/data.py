"""Arrays in npz files, and the share of examples that each rank holds."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput


class DamagedFile(BadInput):
    """A file whose contents aren't what they should be."""

    def __init__(self, name: str, data: bytes, what: str, right: str = "get it anew from where it came") -> None:
        super().__init__(f"{name} (sha256 {hashlib.sha256(data).hexdigest()[:16]}) {what}; {right}.")


LARGEST_ARCHIVE = 256 << 20  # bytes that the files of an archive may take together


def bounded(data: bytes) -> io.BytesIO:
    """An archive, to be read in pieces: `file.read(n)` of zipfile unpacks about n bytes, and no more than the file
    claims. So a small archive can't fill the memory. Raises ValueError for other data, where the files claim more than
    256 MB together, and where they are packed in a way that is unpacked as a whole."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise ValueError("it is no zip file")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = archive.infolist()
    if any(file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for file in files):
        raise ValueError("it is compressed in an unusual way; save it with deflate")
    size = sum(file.file_size for file in files)
    if size > LARGEST_ARCHIVE:
        raise ValueError(f"its files claim {size:,} bytes; at most {LARGEST_ARCHIVE >> 20} MB are read")
    return io.BytesIO(data)


def read_npz(data: bytes, name: str, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays of these names. `name` is for messages. Raises BadInput."""
    try:
        with np.load(bounded(data)) as archive:
            if missing := [key for key in keys if key not in archive.files]:
                raise DamagedFile(
                    name, data, f"has no {' and no '.join(missing)}", f"give an npz file with {', '.join(keys)}"
                )
            return {key: np.require(archive[key]) for key in keys}
    except DamagedFile:
        raise
    except Exception as error:  # from damaged bytes, zipfile and NumPy's parser of headers raise nearly anything
        what = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
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
