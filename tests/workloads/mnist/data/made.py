"""Files of MNIST's kind that tests make themselves."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

KEYS = ("x_train", "y_train", "x_test", "y_test")


def some(count: int, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images [count, 28, 28] that all differ, and labels."""
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (count, 28, 28), np.uint8), random.integers(0, 10, count, np.uint8)


def npz(train: int = 30, held_out: int = 12, **other: NDArray | None) -> bytes:
    """An npz file like Keras's; `other` replaces arrays, None leaves one out."""
    arrays = dict(zip(KEYS, (*some(train), *some(held_out, 1)), strict=True)) | other
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{key: array for key, array in arrays.items() if array is not None})
    return buffer.getvalue()
