"""Reads arrays from an npz archive, without pickles."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.damage import DamagedFile


def read(data: bytes, name: str, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays of these names. `name` is for messages. Raises BadInput."""
    try:
        if not zipfile.is_zipfile(io.BytesIO(data)):
            raise ValueError("it is no zip file")
        with np.load(io.BytesIO(data)) as archive:
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
