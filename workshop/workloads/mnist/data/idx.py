"""IDX files, the format in which MNIST is published (http://yann.lecun.com/exdb/mnist), plain or compressed by gzip.

A file begins with two zero bytes, one byte for the type of its values and one for the number of dimensions; then come
the dimensions as big-endian 32-bit integers, and the values in C order.
"""

from __future__ import annotations

import gzip
import io
import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.damage import LARGEST, DamagedFile

GZIP = b"\x1f\x8b"
TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_DIMENSIONS = 8
RIGHT = "give one of MNIST's files"


def read(data: bytes, name: str) -> NDArray[Any]:
    """The array of an IDX file, read-only, in the file's own type. `name` is for messages.

    Raises BadInput for whatever is no IDX file, is cut off, or would take more than 256 MB.
    """
    try:
        with gzip.open(io.BytesIO(data)) if data.startswith(GZIP) else io.BytesIO(data) as file:
            return _read(file, data, name)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedFile(name, data, f"is damaged: {str(error).rstrip('.')}") from None


def _read(file: io.BufferedIOBase, data: bytes, name: str) -> NDArray[Any]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or not 1 <= magic[3] <= MOST_DIMENSIONS:
        raise DamagedFile(name, data, f"is no IDX file: it begins with {magic.hex(' ') or 'nothing'}", RIGHT)
    sizes = file.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise DamagedFile(name, data, "is damaged: it ends in the middle of its dimensions")
    shape = struct.unpack(f">{magic[3]}I", sizes)
    dtype = np.dtype(TYPES[magic[2]])
    byte_count = math.prod(shape) * dtype.itemsize
    if byte_count > LARGEST:
        raise DamagedFile(name, data, f"claims {_words(shape)} values; at most {LARGEST >> 20} MB are taken", RIGHT)
    values = file.read(byte_count + 1)  # to the end, where gzip's own checksum is
    if len(values) != byte_count:
        held_bytes = f"{len(values):,}" if len(values) < byte_count else "more"
        raise DamagedFile(
            name, data, f"is damaged: it claims {_words(shape)} values, {byte_count:,} bytes, and holds {held_bytes}"
        )
    return np.ndarray(shape, dtype, values)


def _words(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in shape)
