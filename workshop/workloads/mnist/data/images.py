"""Handwritten digits to learn from: found where a run is submitted, read on its ranks.

The data that is always there: scikit-learn's digits, made to look like MNIST's.

They are 1,797 digits of the UCI ML hand-written digits data set, written by 43 people, 8 x 8 pixels of 0 to 16.

Images with their labels, checked: what files of MNIST's kind hold, and nothing else.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workshop.core.errors import BadInput
from workshop.engine import data
from workshop.engine.data import DamagedFile, order
from workshop.workloads.mnist.data import places
from workshop.workloads.mnist.data.places import MNIST, File, Remote

PREFIX = "data/"
WORDS = f"{PREFIX}words"  # an input beside the file
DIGITS = "scikit-learn's digits, scaled to 28x28"


@dataclass(frozen=True)
class Images:
    """Images [n, 28, 28] of 0 (paper) to 255 (ink), and the digits 0 to 9 that they show, [n]. Some are read-only."""

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    held_out_images: NDArray[np.uint8]
    held_out_labels: NDArray[np.int64]
    words: str  # which data this is, one phrase
    digest: str  # of all images and labels: the same for the same data, wherever they came from


def find(data: str, remote: Remote = MNIST) -> dict[str, bytes]:
    """Inputs of a run for `read`: the file of "auto", "mnist", "digits" or of a path, checked by reading it.

    "auto" and "mnist" take what WORKSHOP_DATA names, else Keras's cache, else they download `remote` into it; where
    that fails, "auto" takes the digits. Raises BadInput, for a damaged file too.
    """
    if data == "digits":
        return _inputs(None, DIGITS)
    if data not in ("auto", "mnist"):
        return _inputs(places.at(data), "the npz file that was given")
    if named := os.environ.get("WORKSHOP_DATA"):
        return _inputs(places.at(named), "the npz file that WORKSHOP_DATA names")
    if (cached := places.cached()).exists():
        return _inputs(places.at(str(cached)), "MNIST from Keras's cache")
    try:
        return _inputs(places.download(remote), "MNIST, downloaded")
    except places.NotThere as error:
        if data == "mnist":
            raise BadInput(
                f"MNIST can't be had: Keras's cache has no {cached}, and {error}. Give the path of its npz file, or "
                "take auto or digits."
            ) from None
    return _inputs(None, DIGITS)


def names() -> list[str]:
    """The names under which a run may have kept its images."""
    return [WORDS, PREFIX + places.NPZ]


def read(inputs: Mapping[str, bytes]) -> Images:
    """The images among a run's inputs; without a file they are scikit-learn's digits. Raises BadInput."""
    name = PREFIX + places.NPZ
    file = File(name, inputs[name]) if name in inputs else None
    words = inputs.get(WORDS, b"images that came with the run" if file else DIGITS.encode())
    train, held_out = read_images(file)
    return Images(*train, *held_out, words.decode(), _digest(*train, *held_out))


def _digest(*arrays: NDArray[Any]) -> str:
    """The first half of the SHA-256 of arrays, 32 hexadecimal digits."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(f"{array.dtype}{array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()[:32]


def _inputs(file: File | None, words: str) -> dict[str, bytes]:
    """Inputs with this file, which is read to see that it can be."""
    (train, _), _ = read_images(file)
    inputs = {PREFIX + places.NPZ: file.data} if file else {}
    return inputs | {WORDS: f"{words} ({len(train):,} images)".encode()}


def digits_file(folder: Path, count: int) -> Path:
    """A file like MNIST's with the digits in it, again and again until there are so many to learn from; it is made
    where it isn't there."""
    file = folder / "digits.npz"
    if not file.exists():
        digits = read({})
        chosen = np.resize(np.arange(len(digits.train_labels)), count)
        np.savez_compressed(
            file,
            x_train=digits.train_images[chosen],
            y_train=digits.train_labels[chosen],
            x_test=digits.held_out_images,
            y_test=digits.held_out_labels,
        )
    return file


def png(pixels: NDArray[np.uint8]) -> str:
    """A greyscale picture [height, width] as base64 of a PNG."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


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
    assert spec is not None and spec.origin is not None, "scikit-learn is installed with the package"
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


Labelled = tuple[NDArray[np.uint8], NDArray[np.int64]]  # images [n, 28, 28], and the digits that they show, [n]
KEYS = ("x_train", "y_train", "x_test", "y_test")
CLASSES = 10


def read_images(file: File | None) -> tuple[Labelled, Labelled]:
    """The training images and the held-out images: from an npz file, or scikit-learn's digits where there is none.
    Raises BadInput."""
    if file is None:
        return digits()
    arrays = data.read_npz(file.data, file.name, KEYS)
    train, held_out = (_checked(file, arrays, x, y) for x, y in (KEYS[:2], KEYS[2:]))
    return train, held_out


def _checked(file: File, arrays: dict[str, NDArray[Any]], x: str, y: str) -> Labelled:
    """Refuse all but images [n, 28, 28] of uint8 with n labels from 0 to 9; `x` and `y` are their names."""
    images, labels = arrays[x], arrays[y]
    fits = images.dtype == np.uint8 and images.shape == (*labels.shape, SIDE, SIDE) and labels.dtype.kind in "iu"
    if not fits or not np.isin(labels, range(CLASSES)).all() or not len(labels):
        raise DamagedFile(
            file.name,
            file.data,
            f"holds {_words(images)} as {x} and {_words(labels)} as {y}",
            f"MNIST has images uint8 [n, {SIDE}, {SIDE}], and n labels from 0 to {CLASSES - 1}",
        )
    return images, labels.astype(np.int64)


def _words(array: NDArray[Any]) -> str:
    return f"{array.dtype} {list(array.shape)}"
