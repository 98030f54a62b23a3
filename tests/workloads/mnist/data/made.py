"""Files of MNIST's kind that tests make themselves."""

from __future__ import annotations

import gzip
import io
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

KEYS = ("x_train", "y_train", "x_test", "y_test")


def some(count: int, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images [count, 28, 28] that all differ, and labels."""
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (count, 28, 28), np.uint8), random.integers(0, 10, count, np.uint8)


def idx(array: NDArray, kind: int = 8) -> bytes:
    """An IDX file of an array whose type is `kind` in the format's numbers."""
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def npz(train: int = 30, held_out: int = 12, **other: NDArray | None) -> bytes:
    """An npz file like Keras's; `other` replaces arrays, None leaves one out."""
    arrays = dict(zip(KEYS, (*some(train), *some(held_out, 1)), strict=True)) | other
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{key: array for key, array in arrays.items() if array is not None})
    return buffer.getvalue()


def pair(folder: Path, part: str, count: int, *, mark: str = "-", gz: bool = True) -> tuple[Path, Path]:
    """Images and labels of `some(count)` in a folder, under MNIST's names."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, array in zip(("images", "labels"), some(count), strict=True):
        path = folder / f"{part}-{kind}{mark}idx{array.ndim}-ubyte{'.gz' if gz else ''}"
        path.write_bytes(packed(idx(array)) if gz else idx(array))
        paths.append(path)
    return paths[0], paths[1]
