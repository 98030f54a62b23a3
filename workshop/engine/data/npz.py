"""Arrays of an npz archive, read without trusting what it claims."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from workshop.engine.data.damage import LARGEST, Damaged

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what NumPy writes
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read(data: bytes, name: str, keys: Sequence[str]) -> dict[str, NDArray]:
    """The arrays of these names, read-only. `name` is for messages.

    `np.load` makes room for whatever a header claims; here at most 256 MB are taken for all arrays together, and
    nothing is unpickled. Raises BadInput.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            there = set(archive.namelist())
            if missing := [key for key in keys if f"{key}.npy" not in there]:
                raise Damaged(
                    name, data, f"has no {' and no '.join(missing)}", f"give an npz file with {', '.join(keys)}"
                )
            arrays: dict[str, NDArray] = {}
            for key in keys:
                info = archive.getinfo(f"{key}.npy")
                if info.compress_type not in METHODS:
                    raise ValueError(f"{key} is compressed in another way than NumPy's")
                with archive.open(info) as file:
                    arrays[key] = _array(file, key, LARGEST - sum(array.nbytes for array in arrays.values()))
            return arrays
    except Damaged:
        raise
    except Exception as error:  # from damaged bytes, zipfile and NumPy's parser of headers raise nearly anything
        what = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise Damaged(name, data, f"can't be read as npz: {what[:160]}", "give a file that numpy.savez wrote") from None


def _array(file: BinaryIO, key: str, room: int) -> NDArray:
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"{key} is written in version {version[0]}.{version[1]} of the format")
    shape, fortran, dtype = HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError(f"{key} holds Python objects, which aren't loaded")
    size = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or size > room:
        raise ValueError(f"{key} claims {list(shape)} values; at most {LARGEST >> 20} MB are taken in all")
    values = file.read(size + 1)  # to the end, where the archive's own checksum is
    if len(values) != size:
        raise ValueError(f"{key} claims {size:,} bytes and holds {'more' if len(values) > size else len(values)}")
    return np.ndarray(shape, dtype, values, order="F" if fortran else "C")
