"""The data that is always there: scikit-learn's digits, made to look like MNIST's.

They are 1,797 digits of the UCI ML hand-written digits data set, written by 43 people, 8 x 8 pixels of 0 to 16.
"""

from __future__ import annotations

import gzip
import io
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workshop.core.errors import BadInput
from workshop.engine.data.shards import order

SIDE = 28  # pixels, as MNIST's
BOX = 20  # MNIST's digits fill 20 x 20 pixels, their centre of mass in the middle (http://yann.lecun.com/exdb/mnist)
HELD_OUT = 5  # every fifth image
SEED = 20


def digits() -> tuple[tuple[NDArray[np.uint8], NDArray[np.int64]], tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """1,437 training images [n, 28, 28] with their labels [n], and 360 held-out ones: the same ones every time.

    Both parts have the digits in equal shares, as far as there are as many.
    """
    table = _table()
    images = np.stack([_scaled(small) for small in table[:, :64].reshape(-1, 8, 8)])
    labels = table[:, 64].astype(np.int64)
    shuffled = order(len(labels), SEED)
    by_digit = shuffled[np.argsort(labels[shuffled], kind="stable")]
    held_out = np.zeros(len(labels), bool)
    held_out[by_digit[::HELD_OUT]] = True
    return (images[~held_out], labels[~held_out]), (images[held_out], labels[held_out])


def _table() -> NDArray[np.uint8]:
    """scikit-learn's file, [1797, 64 pixels and a label], found without importing scikit-learn, which takes seconds."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise BadInput("scikit-learn, whose digits these are, is not installed; give MNIST's files instead.")
    packed = (Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz").read_bytes()
    return np.loadtxt(io.BytesIO(gzip.decompress(packed)), np.uint8, delimiter=",")


def _scaled(small: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A digit of 8 x 8 pixels of 0 to 16, as 28 x 28 of 0 to 255, bilinear."""
    image = Image.fromarray(np.rint(small * (255 / 16)).astype(np.uint8))
    box = np.asarray(image.resize((BOX, BOX), Image.Resampling.BILINEAR))
    scaled = np.zeros((SIDE, SIDE), np.uint8)
    row, column = (_begin(box.sum(axis=axis, dtype=float)) for axis in (1, 0))
    scaled[row : row + BOX, column : column + BOX] = box
    return scaled


def _begin(mass: NDArray[np.float64]) -> int:
    """Where a box with this mass along one axis begins, so that its centre of mass is in the middle of the image."""
    centre = mass @ np.arange(BOX) / mass.sum()
    return int(np.clip(np.rint((SIDE - 1) / 2 - centre), 0, SIDE - BOX))
