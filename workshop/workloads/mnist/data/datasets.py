"""Images with their labels, checked: what files of MNIST's kind hold, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data import npz
from workshop.engine.data.damage import DamagedFile
from workshop.engine.data.shards import order
from workshop.workloads.mnist.data import idx
from workshop.workloads.mnist.data.digits import SIDE, digits
from workshop.workloads.mnist.data.files import DIMENSIONS, NPZ, PARTS, File, Files, idx_name

Labelled = tuple[NDArray[np.uint8], NDArray[np.int64]]  # images [n, 28, 28], and the digits that they show, [n]

KEYS = ("x_train", "y_train", "x_test", "y_test")
HELD_OUT = 6  # of a pair alone, one image in so many
SEED = 28
CLASSES = 10


def read(files: Files) -> tuple[Labelled, Labelled]:
    """The training images and the held-out images: from these files, or scikit-learn's digits where there are none.
    Raises BadInput.

    A pair of IDX files alone is divided 5:1, always in the same way.
    """
    if not files:
        return digits()
    if file := files.get(NPZ):
        arrays = npz.read(file.data, file.name, KEYS)
        train, held_out = (
            _checked(arrays[x], arrays[y], file, file, f" as {x}", f" as {y}") for x, y in (KEYS[:2], KEYS[2:])
        )
        return train, held_out
    pairs = [pair for part in PARTS if (pair := _pair(files, part))]
    return (pairs[0], pairs[1]) if len(pairs) == 2 else _divided(*pairs[0], next(iter(files.values())))


def _pair(files: Files, part: str) -> Labelled | None:
    names = (idx_name(part, kind) for kind in DIMENSIONS)
    images, labels = (files.get(name) or files.get(f"{name}.gz") for name in names)
    if images is None or labels is None:
        return None
    return _checked(idx.read(images.data, images.name), idx.read(labels.data, labels.name), images, labels)


def _checked(
    images: NDArray[Any],
    labels: NDArray[Any],
    image_file: File,
    label_file: File,
    image_words: str = "",
    label_words: str = "",
) -> Labelled:
    """Refuse all but images [n, 28, 28] of uint8 with n labels from 0 to 9; `image_words` and
    `label_words` name the arrays in messages."""

    def wrong(file: File, what: str, right: str) -> DamagedFile:
        return DamagedFile(file.name, file.data, f"holds {what}", right)

    if images.dtype != np.uint8 or images.shape[1:] != (SIDE, SIDE) or not len(images):
        raise wrong(image_file, f"{_words(images)}{image_words}", f"MNIST's images are uint8 [n, {SIDE}, {SIDE}]")
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise wrong(label_file, f"{_words(labels)}{label_words}", "MNIST's labels are whole numbers [n]")
    if len(labels) != len(images):
        what = f"{len(labels):,} labels{label_words} for {len(images):,} images"
        raise wrong(label_file, what, "every image needs one label")
    if outside := labels[(labels < 0) | (labels >= CLASSES)].tolist():
        raise wrong(label_file, f"the label {outside[0]}{label_words}", f"labels are 0 to {CLASSES - 1}")
    return images, labels.astype(np.int64)


def _divided(images: NDArray[np.uint8], labels: NDArray[np.int64], file: File) -> tuple[Labelled, Labelled]:
    if len(images) < HELD_OUT:
        raise DamagedFile(file.name, file.data, f"holds {len(images)} images", f"at least {HELD_OUT} are needed")
    shuffled = order(len(images), SEED)
    held_out, train = np.split(shuffled, [len(images) // HELD_OUT])
    return (images[train], labels[train]), (images[held_out], labels[held_out])


def _words(array: NDArray[Any]) -> str:
    return f"{array.dtype} {list(array.shape)}"
