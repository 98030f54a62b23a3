"""Images with their labels, checked: what files of MNIST's kind hold, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data import npz
from workshop.engine.data.damage import DamagedFile
from workshop.workloads.mnist.data.digits import SIDE, digits
from workshop.workloads.mnist.data.files import File

Labelled = tuple[NDArray[np.uint8], NDArray[np.int64]]  # images [n, 28, 28], and the digits that they show, [n]

KEYS = ("x_train", "y_train", "x_test", "y_test")
CLASSES = 10


def read(file: File | None) -> tuple[Labelled, Labelled]:
    """The training images and the held-out images: from an npz file, or scikit-learn's digits where there is none.
    Raises BadInput."""
    if file is None:
        return digits()
    arrays = npz.read(file.data, file.name, KEYS)
    train, held_out = (_checked(file, arrays, x, y) for x, y in (KEYS[:2], KEYS[2:]))
    return train, held_out


def _checked(file: File, arrays: dict[str, NDArray[Any]], x: str, y: str) -> Labelled:
    """Refuse all but images [n, 28, 28] of uint8 with n labels from 0 to 9; `x` and `y` are their names."""
    images, labels = arrays[x], arrays[y]

    def wrong(what: str, right: str) -> DamagedFile:
        return DamagedFile(file.name, file.data, f"holds {what}", right)

    if images.dtype != np.uint8 or images.shape[1:] != (SIDE, SIDE) or not len(images):
        raise wrong(f"{_words(images)} as {x}", f"MNIST's images are uint8 [n, {SIDE}, {SIDE}]")
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise wrong(f"{_words(labels)} as {y}", "MNIST's labels are whole numbers [n]")
    if len(labels) != len(images):
        raise wrong(f"{len(labels):,} labels as {y} for {len(images):,} images", "every image needs one label")
    if outside := labels[(labels < 0) | (labels >= CLASSES)].tolist():
        raise wrong(f"the label {outside[0]} as {y}", f"labels are 0 to {CLASSES - 1}")
    return images, labels.astype(np.int64)


def _words(array: NDArray[Any]) -> str:
    return f"{array.dtype} {list(array.shape)}"
