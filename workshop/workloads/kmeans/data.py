"""Where points come from. They don't depend on the number of ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workshop.engine.data import blocks
from workshop.workloads.kmeans.numpy_kernel import Floats

BLOCK = 8192  # points that one seed makes
SIDE = 10.0  # the blobs' centres lie in a cube of this side; each blob has variance 1 along every axis


class Blobs:
    """`size` points of normal blobs around `clusters` random centres, made when they are read and never kept."""

    unit = 1.0  # of which features are multiples

    def __init__(self, size: int, features: int, clusters: int, seed: int, dtype: DTypeLike) -> None:
        self.size, self.features = size, features
        self._seed, self._dtype = seed, dtype
        self._centres = np.random.default_rng([seed, 0]).random((clusters, features), np.float32) * np.float32(SIDE)

    def read(self, first: int, end: int) -> Floats:
        """Points `first` to `end`, (end - first, features)."""
        points = np.empty((end - first, self.features), self._dtype)
        for number, some, place in blocks(first, end, BLOCK):
            points[place] = self._block(number)[some]
        return points

    def _block(self, number: int) -> NDArray[np.float32]:
        random = np.random.default_rng([self._seed, 1, number])
        blob = random.integers(len(self._centres), size=BLOCK)
        return self._centres[blob] + random.standard_normal((BLOCK, self.features), np.float32)


class Pixels:
    """A photo's pixels (height, width, 3) as points in colour space, row by row or in a random order.

    Colours are 0 to 1, in multiples of 1/255: float32 holds the multiples exactly, so both precisions have the same
    points and the same ties."""

    features, unit = 3, 1 / 255

    def __init__(self, photo: NDArray[np.uint8], dtype: DTypeLike, shuffle: int | None = None) -> None:
        self._flat = photo.reshape(-1, 3)
        self.size = len(self._flat)
        self._dtype = np.dtype(dtype)
        self._order = None if shuffle is None else np.random.default_rng([shuffle, 2]).permutation(self.size)

    def read(self, first: int, end: int) -> Floats:
        some = self._flat[first:end] if self._order is None else self._flat[self._order[first:end]]
        return some.astype(self._dtype)


Source = Blobs | Pixels
