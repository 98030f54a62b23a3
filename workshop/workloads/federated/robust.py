"""Rules that one wrong update can't move far: each value of the update is taken from the institutions' values by
itself. Yin et al. 2018, arXiv:1803.01498, definitions 1 and 2. Institutions count alike, however many images each has:
weights would let an institution buy influence by saying that it has many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]  # [parameters]
BLOCK = 1 << 16  # values that are looked at together, so that there is never a second copy of all updates


def median(updates: Sequence[Vector]) -> NDArray[np.float64]:
    """Of each value the median over at least one update, the mean of the two in the middle where their number is even;
    float64 [parameters]."""
    return _by_blocks(updates, lambda block: np.median(block, axis=0))


def trimmed(updates: Sequence[Vector], trim: int) -> NDArray[np.float64]:
    """Of each value the mean over the updates without the `trim` largest and the `trim` smallest; float64
    [parameters]. There have to be more than 2 `trim` updates."""
    if 2 * trim >= len(updates):
        raise ValueError(f"{len(updates)} updates can't be trimmed by {trim} on either side.")
    return _by_blocks(updates, lambda block: np.sort(block, axis=0)[trim : len(block) - trim].mean(axis=0))


def apart(updates: Sequence[Vector]) -> list[float]:
    """How far each of at least two updates lies from the others: the median of its distances from them. Unlike the
    distance from their mean, a few that lie far off don't change it for the rest."""
    products = np.zeros((len(updates), len(updates)))
    for block in _blocks(updates):
        products += block @ block.T
    squares = np.diag(products)
    distances = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * products, 0))
    others = distances[~np.eye(len(updates), dtype=bool)].reshape(len(updates), -1)
    return np.median(others, axis=1).tolist()


def _blocks(updates: Sequence[Vector]) -> Iterator[NDArray[np.float64]]:
    for at in range(0, len(updates[0]), BLOCK):
        yield np.stack([update[at : at + BLOCK] for update in updates]).astype(np.float64)


def _by_blocks(
    updates: Sequence[Vector], rule: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    return np.concatenate([rule(block) for block in _blocks(updates)])
