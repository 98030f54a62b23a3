"""Reads arrays from an npz archive without trusting its claims."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from workshop.core import archives
from workshop.engine.data.damage import LARGEST, DamagedFile

LONGEST_HEADER = 10_000  # bytes: as much as NumPy parses; it would read a longer one before it refuses it
# By version: how many bytes tell the length of the header, and who parses it.
HEADERS = {(1, 0): (2, npy.read_array_header_1_0), (2, 0): (4, npy.read_array_header_2_0)}


def read(data: bytes, name: str, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays of these names, read-only. `name` is for messages.

    `np.load` makes room for whatever a header claims; here at most 256 MB are taken for all arrays together, and
    nothing is unpickled. Raises BadInput.
    """
    try:
        with archives.opened(data) as archive:
            members = set(archive.namelist())
            if missing := [key for key in keys if f"{key}.npy" not in members]:
                raise DamagedFile(
                    name, data, f"has no {' and no '.join(missing)}", f"give an npz file with {', '.join(keys)}"
                )
            arrays: dict[str, NDArray[Any]] = {}
            for key in keys:
                with archives.begin(archive, f"{key}.npy") as file:
                    arrays[key] = _array(file, key, LARGEST - sum(array.nbytes for array in arrays.values()))
            return arrays
    except DamagedFile:
        raise
    except Exception as error:  # from damaged bytes, zipfile and NumPy's parser of headers raise nearly anything
        what = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise DamagedFile(
            name, data, f"can't be read as npz: {what[:160]}", "give a file that numpy.savez wrote"
        ) from None


def _array(file: IO[bytes], key: str, room: int) -> NDArray[Any]:
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"{key} is written in version {version[0]}.{version[1]} of the format")
    width, parse = HEADERS[version]
    length = file.read(width)
    if int.from_bytes(length, "little") > LONGEST_HEADER:
        raise ValueError(f"{key} claims a header of {int.from_bytes(length, 'little'):,} bytes")
    shape, fortran, dtype = parse(io.BytesIO(length + file.read(int.from_bytes(length, "little"))))
    if dtype.hasobject:
        raise ValueError(f"{key} holds Python objects, which aren't loaded")
    size = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or size > room:
        raise ValueError(f"{key} claims {list(shape)} values; at most {LARGEST >> 20} MB are taken in all")
    values = file.read(size + 1)  # to the end, where the archive's own checksum is
    if len(values) != size:
        raise ValueError(f"{key} claims {size:,} bytes and holds {'more' if len(values) > size else len(values)}")
    return np.ndarray(shape, dtype, values, order="F" if fortran else "C")
