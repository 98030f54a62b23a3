"""Reads arrays from an npz archive, without pickles, and bounds what archives unpack to."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.damage import DamagedFile

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


def read(data: bytes, name: str, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
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
