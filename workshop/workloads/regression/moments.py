"""Sums over a rank's rows from which regression follows: the products of columns.

`MadeUpRows` have known coefficients, and don't depend on the number of ranks.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray
from scipy.linalg.blas import dsyrk

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


NARROW = 32  # features up to which the compiled kernel is faster than BLAS
ROWS = 512  # that BLAS multiplies at once
VECTOR = 8  # columns that BLAS computes together
SAMPLE = 1000  # rows of each rank whose mean is the pivot
BUFFER = 128  # rows of the buffer of `add_products`

# Loops over rows, compiled by Numba for one core: BLAS is slow for the products of few columns.


@njit(cache=True)
def shift(features: Floats, targets: Floats, pivot: NDArray[np.float64], rows: NDArray[np.float64]) -> None:
    """Fill the first p + 1 columns of `rows` (n, at least p + 1) with [X - pivot, y - pivot], for features X (n, p),
    targets y (n,) and pivot (p + 1,)."""
    size, width = features.shape
    for row in range(size):
        for column in range(width):
            rows[row, column] = features[row, column] - pivot[column]
        rows[row, width] = targets[row] - pivot[width]


# Sums may be reordered, so that vector registers add; infinities and NaN keep their meaning.
@njit(cache=True, fastmath={"contract", "nsz", "reassoc"})
def add_products(features: Floats, targets: Floats, pivot: NDArray[np.float64], products: NDArray[np.float64]) -> None:
    """Add to the upper triangle of `products` (p + 2, p + 2) the products of the columns of [X - pivot, y - pivot, 1],
    for features X (n, p), targets y (n,) and pivot (p + 1,).

    Rows pass through a small buffer, columns first, that stays in the first-level cache. Each pair of columns shares
    its loads with a neighbouring pair.
    """
    size, width = features.shape
    columns = width + 2
    even = columns + columns % 2
    buffer = np.zeros((even, BUFFER))
    sums = np.zeros((even, even))
    for first in range(0, size, BUFFER):
        rows = min(BUFFER, size - first)
        if rows < BUFFER:
            buffer[:] = 0
        buffer[width + 1, :rows] = 1
        for row in range(rows):
            for column in range(width):
                buffer[column, row] = features[first + row, column] - pivot[column]
            buffer[width, row] = targets[first + row] - pivot[width]
        for i in range(0, even, 2):
            for j in range(i, even, 2):
                first_first, first_second, second_first, second_second = 0.0, 0.0, 0.0, 0.0
                for row in range(BUFFER):
                    first_first += buffer[i, row] * buffer[j, row]
                    first_second += buffer[i, row] * buffer[j + 1, row]
                    second_first += buffer[i + 1, row] * buffer[j, row]
                    second_second += buffer[i + 1, row] * buffer[j + 1, row]
                sums[i, j] += first_first
                sums[i, j + 1] += first_second
                sums[i + 1, j] += second_first
                sums[i + 1, j + 1] += second_second
    for i in range(columns):
        for j in range(i, columns):
            products[i, j] += sums[i, j]


class Moments:
    """Products of the columns of [X - pivot, y - pivot, 1], which hold X'X, X'y, y'y, the sums and the count.

    The pivot (p + 1,) is a place among the rows, the same on all ranks, so that centring what is added up here loses no
    digits where means are large. Products are float64, whatever the rows' precision.
    """

    def __init__(self, pivot: NDArray[np.float64]) -> None:
        self.pivot = pivot
        self.products = np.zeros((len(pivot) + 1, len(pivot) + 1), order="F")  # upper triangle

    def add(self, features: Floats, targets: Floats) -> None:
        """Add rows: features (n, p) and targets (n,)."""
        features, targets = compilable(features), compilable(targets)
        columns = len(self.products)
        if features.shape[1] <= NARROW:
            add_products(features, targets, self.pivot, self.products)
        else:
            width = -(-columns // VECTOR) * VECTOR
            products = np.zeros((width, width), order="F")
            rows = np.zeros((min(ROWS, len(features)), width))
            rows[:, columns - 1] = 1
            for first in range(0, len(features), ROWS):
                part = rows[: len(features) - first]
                shift(features[first : first + ROWS], targets[first : first + ROWS], self.pivot, part)
                # The transposed view is the matrix by columns, as BLAS reads it without a copy.
                products = dsyrk(1.0, part.T, beta=1.0, c=products, overwrite_c=True)
            self.products += products[:columns, :columns]

    def packed(self) -> NDArray[np.float64]:
        """The upper triangle in one array, ((p + 2) (p + 3) / 2,), which one all-reduce adds up."""
        return self.products[np.triu_indices(len(self.products))]


def compilable(array: Floats) -> Floats:
    """The array in the one layout and kind for which the kernels are compiled; others would be compiled, too."""
    return np.require(array, requirements=["C_CONTIGUOUS", "WRITEABLE"])


def centred(packed: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Of all ranks' packed moments: the products of centred columns (p + 1, p + 1), the means' distances from the pivot
    (p + 1,), and the rows. S - s s' / n, for products S, sums s and n rows."""
    size = int(np.sqrt(2 * len(packed)))
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = packed
    products += np.triu(products, 1).T
    rows = float(products[-1, -1])
    means = products[:-1, -1] / max(rows, 1)
    return products[:-1, :-1] - rows * np.outer(means, means), means, rows


def compile_kernels() -> None:
    """Have the kernels compiled for both precisions, unless Numba's cache has them."""
    for dtype, features in product((np.float32, np.float64), (1, NARROW + 1)):
        Moments(np.zeros(features + 1)).add(np.zeros((1, features), dtype), np.zeros(1, dtype))
