"""The examples: characters of Python's own help texts, and handwritten digits. Every machine has both."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from workshop.workloads.parallel.cuts.precision import DTYPES
from workshop.workloads.parallel.network.layers import Array

if TYPE_CHECKING:
    from workshop.workloads.parallel import ParallelParams

HELD_OUT = 8  # the last of so many parts of the examples are for evaluation
CLASSES = 10
HELD_OUT_SEED = 2**32  # no step has it


@cache
def text() -> tuple[Array, str]:
    """Python's help on its language as numbers of characters, and the characters in their order."""
    from pydoc_data.topics import topics

    joined = "\n".join(topics[name] for name in sorted(topics))
    characters = "".join(sorted(set(joined)))
    codes = np.array([ord(character) for character in joined])
    return np.searchsorted([ord(character) for character in characters], codes), characters


@cache
def digits(size: int) -> tuple[Array, Array]:
    """Digits [images, size, size, 1] from 0 to 1, and their labels (Alpaydin and Kaynak, UCI 1998, through
    scikit-learn); pixels are repeated where the size is larger than 8."""
    from sklearn.datasets import load_digits

    data = load_digits()
    times = size // 8
    images = np.kron(data.images, np.ones((times, times)))[..., None] / 16
    order = np.random.default_rng(0).permutation(len(images))
    return images[order], data.target[order]


def batch(params: ParallelParams, step: int, held_out: bool = False) -> tuple[Array, Array]:
    """Inputs and targets of a step, the same on all ranks and for any number of ranks."""
    stream = np.random.default_rng([params.seed, HELD_OUT_SEED if held_out else step])
    if params.network == "transformer":
        codes, _ = text()
        border = len(codes) - len(codes) // HELD_OUT
        least, most = (border, len(codes)) if held_out else (0, border)
        begins = stream.integers(least, most - params.length - 1, params.batch)[:, None] + np.arange(params.length)
        return codes[begins], codes[begins + 1]
    images, labels = digits(params.image if params.network == "convolutional" else 8)
    border = len(images) - len(images) // HELD_OUT
    chosen = (
        stream.integers(border, len(images), params.batch) if held_out else stream.integers(0, border, params.batch)
    )
    inputs = images[chosen].astype(DTYPES[params.precision])
    return (inputs if params.network == "convolutional" else inputs.reshape(params.batch, -1)), labels[chosen]
