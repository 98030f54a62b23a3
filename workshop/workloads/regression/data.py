"""Made-up rows with known coefficients. They don't depend on the number of ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workshop.engine.data import blocks

BLOCK = 8192  # rows that one seed makes
SPREAD = 10.0  # the largest standard deviation of a feature, divided by the smallest
OFFSET = 10.0  # features have means up to this, in units of their largest standard deviation

Floats = NDArray[np.floating]
Rows = tuple[Floats, Floats]  # features (n, p) and targets (n,)


class MadeUpRows:
    """`size` rows with normal features, made when they are read and never kept.

    Targets are `features @ coefficients + intercept`, and normal noise. Features are independent normal numbers with
    standard deviations from 1 to 1 / `SPREAD`, turned by a random orthogonal matrix, and shifted by their means.
    """

    def __init__(self, size: int, features: int, noise: float, seed: int, dtype: DTypeLike = np.float64) -> None:
        self.size, self.features = size, features
        self._seed, self._noise, self._dtype = seed, noise, np.dtype(dtype)
        random = np.random.default_rng([seed, 0])
        self.coefficients = random.uniform(1, 10, features) * random.choice([-1.0, 1.0], features)
        self.intercept = float(random.uniform(1, 10))
        self._means = random.uniform(-OFFSET, OFFSET, features)
        turn, _ = np.linalg.qr(random.standard_normal((features, features)))
        self._mixing = np.geomspace(1, 1 / SPREAD, features)[:, None] * turn

    def read(self, first: int, end: int) -> Rows:
        """Rows `first` to `end`: features (end - first, features) and targets (end - first,)."""
        features = np.empty((end - first, self.features), self._dtype)
        targets = np.empty(end - first, self._dtype)
        for number, part, place in blocks(first, end, BLOCK):
            random = np.random.default_rng([self._seed, 1, number])
            # The whole block is multiplied, since BLAS rounds the products of some rows alone in another way.
            normal = (random.standard_normal((BLOCK, self.features)) @ self._mixing + self._means).astype(self._dtype)
            exact = normal.astype(np.float64) @ self.coefficients + self.intercept
            features[place] = normal[part]
            targets[place] = (exact + self._noise * random.standard_normal(BLOCK))[part]
        return features, targets
