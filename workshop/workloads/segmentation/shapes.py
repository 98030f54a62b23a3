"""Soft shapes on a grid: ellipses with a wavy edge. They are drawn in coordinates from -1 to 1, right and down, so that
a patient is the same one at any number of pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float64]  # [size, size], a value for each pixel
WAVES = (2, 3, 4)  # times that the edge goes out and in on its way around


def grid(size: int) -> tuple[Plane, Plane]:
    """The centres of the pixels of a square image: x grows to the right, y downwards."""
    centres = (np.arange(size) + 0.5) * (2 / size) - 1
    return np.meshgrid(centres, centres)


@dataclass(frozen=True)
class Blob:
    """An ellipse around (x, y) with radii `rx` and `ry`, turned by `turn` radians, whose edge goes out and in: for each
    of `WAVES` by how much of the radius, and where."""

    x: float
    y: float
    rx: float
    ry: float
    turn: float = 0.0
    waves: tuple[tuple[float, float], ...] = ()

    def level(self, x: Plane | float, y: Plane | float) -> Plane:
        """0 in the middle, 1 on the edge, more outside."""
        cos, sin = np.cos(self.turn), np.sin(self.turn)
        right, down = np.subtract(x, self.x), np.subtract(y, self.y)
        u, v = (cos * right + sin * down) / self.rx, (cos * down - sin * right) / self.ry
        angle = np.arctan2(v, u)
        wavy = sum(far * np.cos(times * angle + begin) for times, (far, begin) in zip(WAVES, self.waves, strict=False))
        return np.hypot(u, v) / (1 + wavy)

    def cover(self, size: int) -> Plane:
        """Which share of each pixel it covers, about: 0 to 1."""
        pixels = np.sqrt(self.rx * self.ry) / (2 / size)
        return np.clip((1 - self.level(*grid(size))) * pixels + 0.5, 0, 1)

    def mask(self, size: int) -> NDArray[np.bool_]:
        """The pixels with their centre inside."""
        return self.level(*grid(size)) <= 1

    def scaled(self, factor: float) -> Blob:
        return replace(self, rx=factor * self.rx, ry=factor * self.ry)


def wavy(stream: np.random.RandomState, most: float) -> tuple[tuple[float, float], ...]:
    """Waves of an edge, each by at most that share of the radius; faster ones by less."""
    return tuple(
        (float(stream.uniform(0, most)) * WAVES[0] / times, float(stream.uniform(0, 2 * np.pi))) for times in WAVES
    )
