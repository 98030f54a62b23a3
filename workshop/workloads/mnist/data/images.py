"""Handwritten digits to learn from: found where a run is submitted, read on its ranks."""

from __future__ import annotations

import base64
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workshop.core.errors import BadInput
from workshop.workloads.mnist.data import datasets, files, places
from workshop.workloads.mnist.data.files import File
from workshop.workloads.mnist.data.places import MNIST, Remote

PREFIX = "data/"
WORDS, NOTICE = f"{PREFIX}words", f"{PREFIX}notice"  # inputs beside the files
DIGITS = "scikit-learn's digits, scaled to 28x28"
PLACES = (  # in this order, each with its words for data from there, and its advice on a damaged file
    (places.keras_cache, "MNIST from Keras's cache", "Delete it: MNIST is downloaded where there is a network."),
    (places.download, "MNIST, downloaded", ""),
)


@dataclass(frozen=True)
class Images:
    """Images [n, 28, 28] of 0 (paper) to 255 (ink), and the digits 0 to 9 that they show, [n]. Some are read-only."""

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    held_out_images: NDArray[np.uint8]
    held_out_labels: NDArray[np.int64]
    words: str  # which data this is, one phrase
    digest: str  # of all images and labels: the same for the same data, wherever they came from
    notice: str = ""  # what the user should know besides: sentences about damaged files that were left out


def find(data: str, remote: Remote = MNIST) -> dict[str, bytes]:
    """Inputs of a run for `read`: the file of "auto", "mnist", "digits" or of a path, checked by reading it.

    "auto" and "mnist" take what WORKSHOP_DATA names, else Keras's cache, else they download `remote` into it; where
    that fails, "auto" takes the digits. A damaged file that somebody named is refused; in Keras's cache it is left out,
    with a notice. Raises BadInput.
    """
    if data == "digits":
        return _inputs(None, DIGITS)
    if data not in ("auto", "mnist"):
        return _inputs(files.at(data), "the npz file that was given")
    if named := os.environ.get("WORKSHOP_DATA"):
        try:
            return _inputs(files.at(named), "the npz file that WORKSHOP_DATA names")
        except BadInput as error:
            raise BadInput(f"WORKSHOP_DATA: {error}") from error
    absent: list[str] = []
    damaged: list[str] = []
    for place, words, advice in PLACES:
        try:
            return _inputs(place(remote), words, damaged)
        except places.NotThere as error:
            absent.append(str(error))
        except BadInput as error:
            damaged.append(f"{error} {advice}".strip())
    if data == "mnist":
        why = " ".join([f"MNIST can't be had: {'; '.join(absent)}.", *damaged])
        raise BadInput(f"{why} Give the path of its npz file, or take auto or digits.")
    return _inputs(None, DIGITS, damaged)


def names() -> list[str]:
    """The names under which a run may have kept its images."""
    return [WORDS, PREFIX + files.NPZ]


def read(inputs: Mapping[str, bytes]) -> Images:
    """The images among a run's inputs; without a file they are scikit-learn's digits. Raises BadInput."""
    name = PREFIX + files.NPZ
    file = File(name, inputs[name]) if name in inputs else None
    words = inputs.get(WORDS, b"images that came with the run" if file else DIGITS.encode())
    train, held_out = datasets.read(file)
    return Images(*train, *held_out, words.decode(), _digest(*train, *held_out), inputs.get(NOTICE, b"").decode())


def _digest(*arrays: NDArray[Any]) -> str:
    """The first half of the SHA-256 of arrays, 32 hexadecimal digits."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(f"{array.dtype}{array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()[:32]


def _inputs(file: File | None, words: str, damaged: Sequence[str] = ()) -> dict[str, bytes]:
    """Inputs with this file, which is read to see that it can be."""
    (train, _), _ = datasets.read(file)
    words += f" ({len(train):,} images)"
    inputs = {PREFIX + files.NPZ: file.data} if file else {}
    if damaged:
        words += "; a damaged file was left out"
        inputs[NOTICE] = " ".join(f"Left out: {sentences}" for sentences in damaged).encode()
    return inputs | {WORDS: words.encode()}


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
