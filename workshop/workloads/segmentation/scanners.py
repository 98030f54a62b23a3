"""Each institution's own way of taking pictures, for CT and for PET: how contrasted, bright, sharp and noisy they are;
and how large the lesions are that its patients come with.

All are drawn from a seed within the ranges below, which are invented: wide enough that a network which knows one
institution's pictures is at a loss with another's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.segmentation.shapes import Plane

SCANNER = 51  # stream of a seed
CT_GRAIN, PET_GRAIN = 0.0, 0.9  # how wide specks of noise are: PET's is never that of single pixels
UNIT = 64  # lengths are given in pixels of an image so many pixels wide


@dataclass(frozen=True)
class Detector:
    """The scanner's image of a slice x of values from 0 to 1: the slice is blurred by a normal distribution of standard
    deviation `blur`, in 64ths of the image's width; then it is `offset + contrast * x` plus normal noise of standard
    deviation `noise`, kept within 0 and 1."""

    contrast: float
    offset: float
    noise: float
    blur: float

    def picture(self, plane: Plane, stream: np.random.RandomState, grain: float = 0.0) -> NDArray[np.float32]:
        """A slice [size, size] as it shows it; `grain` is the width of specks of noise, as `blur`."""
        pixels = len(plane) / UNIT
        smooth, specks = blurring(len(plane), self.blur * pixels), blurring(len(plane), grain * pixels)
        noise = specks @ stream.standard_normal(plane.shape) @ specks.T
        noise /= np.square(specks[len(specks) // 2]).sum()  # which is by how much smoothing has made it weaker
        image = self.offset + self.contrast * (smooth @ plane @ smooth.T) + self.noise * noise
        return np.clip(image, 0, 1).astype(np.float32)


@dataclass(frozen=True)
class ScannerModel:
    """An institution's CT and PET, and the lesions that it sees: the median of their radii, in 64ths of the image's
    width, and the standard deviation of the radii's logarithm."""

    ct: Detector
    pet: Detector
    radius: float
    spread: float


# In the middle of all ranges: what everybody has where institutions don't differ.
COMMON = ScannerModel(Detector(0.78, 0.11, 0.028, 0.5), Detector(0.78, 0.06, 0.026, 1.7), 4.4, 0.25)


def scanner(institution: int, seed: int) -> ScannerModel:
    """An institution's own."""
    stream = np.random.RandomState([SCANNER, seed, institution])

    def between(low: float, high: float) -> float:
        return float(stream.uniform(low, high))

    contrast = between(0.55, 1.0)
    ct = Detector(contrast, between(0, 1 - contrast), between(0.01, 0.045), between(0.0, 1.0))
    pet = Detector(between(0.5, 1.05), between(0, 0.12), between(0.012, 0.04), between(1.1, 2.3))
    return ScannerModel(ct, pet, between(3.2, 5.6), between(0.15, 0.35))


@cache
def blurring(size: int, deviation: float) -> Plane:
    """A matrix [size, size] that blurs columns by a normal distribution of that many pixels, and `@ matrix.T` rows. Its
    rows add up to 1: what would come from outside is left out. Less than a twentieth of a pixel is nothing."""
    if deviation < 0.05:
        return np.eye(size)
    offsets = np.subtract.outer(np.arange(size), np.arange(size)) / deviation
    weights = np.exp(-np.square(offsets) / 2)
    return weights / weights.sum(axis=1, keepdims=True)
