"""Loops over rows, compiled by Numba for one core: BLAS is slow for the products of few columns."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

ROWS = 128  # of the buffer of `add_products`


@njit(cache=True)
def shift(
    features: NDArray[np.floating],
    targets: NDArray[np.floating],
    pivot: NDArray[np.float64],
    rows: NDArray[np.float64],
) -> None:
    """Fill the first p + 1 columns of `rows` (n, at least p + 1) with [X - pivot, y - pivot], for features X (n, p),
    targets y (n,) and pivot (p + 1,)."""
    size, width = features.shape
    for row in range(size):
        for column in range(width):
            rows[row, column] = features[row, column] - pivot[column]
        rows[row, width] = targets[row] - pivot[width]


# Sums may be reordered, so that vector registers add; infinities and NaN keep their meaning.
@njit(cache=True, fastmath={"contract", "nsz", "reassoc"})
def add_products(
    features: NDArray[np.floating],
    targets: NDArray[np.floating],
    pivot: NDArray[np.float64],
    products: NDArray[np.float64],
) -> None:
    """Add to the upper triangle of `products` (p + 2, p + 2) the products of the columns of [X - pivot, y - pivot, 1],
    for features X (n, p), targets y (n,) and pivot (p + 1,).

    Rows pass through a small buffer, columns first, that stays in the first-level cache. Each pair of columns shares
    its loads with a neighbouring pair.
    """
    size, width = features.shape
    columns = width + 2
    even = columns + columns % 2
    buffer = np.zeros((even, ROWS))
    sums = np.zeros((even, even))
    for first in range(0, size, ROWS):
        rows = min(ROWS, size - first)
        if rows < ROWS:
            buffer[:] = 0
        buffer[width + 1, :rows] = 1
        for row in range(rows):
            for column in range(width):
                buffer[column, row] = features[first + row, column] - pivot[column]
            buffer[width, row] = targets[first + row] - pivot[width]
        for i in range(0, even, 2):
            for j in range(i, even, 2):
                first_first, first_second, second_first, second_second = 0.0, 0.0, 0.0, 0.0
                for row in range(ROWS):
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
