"""Compares recovered pictures with the true images. Only the run knows these, to measure the attack; the attacker
doesn't."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_DECIBELS = 100.0  # dB, where there is no difference
AT_ONCE = 4096  # images


def psnr(image: NDArray[np.float32], picture: NDArray[np.float32]) -> float:
    """The peak signal-to-noise ratio in dB, 10 log10 (1 / MSE) for pixels from 0 to 1 (Salomon, Data compression,
    Springer 2007, section 4.2.2), at most `MOST_DECIBELS`."""
    error = float(np.mean((image.astype(np.float64) - picture) ** 2))
    return min(-10 * math.log10(error), MOST_DECIBELS) if error > 0 else MOST_DECIBELS


def _standard(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Rows with mean zero and length one; zeros where a row is constant."""
    centred = rows.astype(np.float64) - rows.mean(axis=1, dtype=np.float64, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-9)


def matched(images: NDArray[np.float32], pictures: NDArray[np.float32]) -> list[int]:
    """The picture of each image: pairs with the least squared difference first, each picture once. An attacker recovers
    pictures in no order."""
    flat, others = (array.reshape(len(array), -1).astype(np.float64) for array in (images, pictures))
    distances = ((flat[:, None] - others[None]) ** 2).sum(axis=2)
    matches = [-1] * len(images)
    for _ in images:
        image, picture = np.unravel_index(distances.argmin(), distances.shape)
        matches[image] = int(picture)
        distances[image], distances[:, picture] = np.inf, np.inf
    return matches


def nearest(
    pictures: NDArray[np.float32], positions: Sequence[int], among: NDArray[np.uint8]
) -> list[tuple[float, float]]:
    """For each picture, its correlations with the true image, which is at a position among images [n, 28, 28] of bytes,
    and with the best other one."""
    rows = _standard(pictures.reshape(len(pictures), -1))
    parts = np.array_split(among, len(among) // AT_ONCE + 1)
    correlations = np.concatenate([rows @ _standard(part.reshape(len(part), -1)).T for part in parts], axis=1)
    return [
        (float(row[position]), float(np.delete(row, position).max(initial=-1.0)))
        for row, position in zip(correlations, positions, strict=True)
    ]
