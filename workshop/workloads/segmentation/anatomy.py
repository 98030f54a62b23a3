"""A made-up slice through an upper abdomen: what is where in a patient's body, how dense it is and how much of the
tracer it takes up.

Nobody's body is copied here. Organs are where a textbook has them (the liver on the left of the image, as radiologists
look at patients from below), and their sizes, places and shapes vary from patient to patient by free choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workshop.workloads.segmentation.shapes import Blob, Grid, Plane, wavy

RIBS = 4  # on each side
NEAR = 0.6  # times its radius, how close to a closed part something may be


@dataclass(frozen=True)
class BodyPart:
    """Something in the body: `density` from 0 (air) to 1 (bone), as CT shows it, and `uptake` from 0 to 1, as
    PET does."""

    shape: Blob
    density: float
    uptake: float


@dataclass(frozen=True)
class Anatomy:
    """`parts` from the outermost to the innermost. Lesions lie within `inner`, and not in a `closed` part."""

    parts: tuple[BodyPart, ...]
    inner: Blob
    closed: tuple[Blob, ...]

    def room(self, x: float, y: float, radius: float) -> bool:
        """Whether there is room for something of that radius."""
        if self.inner.level(x, y) > 1 - radius / min(self.inner.rx, self.inner.ry):
            return False
        return all(shape.level(x, y) > 1 + NEAR * radius / min(shape.rx, shape.ry) for shape in self.closed)


def anatomy(stream: np.random.RandomState) -> Anatomy:
    """One patient's, drawn from a stream."""

    def about(middle: float, spread: float) -> float:
        return middle + spread * float(stream.uniform(-1, 1))

    width, height = about(0.90, 0.06), about(0.70, 0.06)
    body = Blob(about(0, 0.03), about(0, 0.03), width, height, about(0, 0.06), wavy(stream, 0.03))
    fat = about(0.10, 0.05)  # how thick it is under the skin, as a share of the radius
    wall = body.scaled(1 - fat)
    inner = body.scaled(1 - fat - about(0.09, 0.02))
    kidneys = about(0.42, 0.09)  # share of what they took up that hasn't left with the urine

    def organ(x: float, y: float, rx: float, ry: float, density: float, uptake: float, wave: float = 0.08) -> BodyPart:
        """Around a place given as a share of the inner radii, with radii given so, too."""
        place = body.x + about(x, 0.05) * inner.rx, body.y + about(y, 0.05) * inner.ry
        radii = inner.rx * rx * about(1, 0.12), inner.ry * ry * about(1, 0.12)
        shape = Blob(*place, *radii, about(0, 0.2), wavy(stream, wave))
        return BodyPart(shape, about(density, 0.02), uptake * about(1, 0.15))

    spine = organ(0.0, 0.66, 0.17, 0.19, 0.86, 0.16, 0.05)
    canal = BodyPart(Blob(spine.shape.x, spine.shape.y + 1.25 * spine.shape.ry, 0.055, 0.05), 0.5, 0.06)
    stomach = organ(0.42, -0.42, 0.34, 0.30, 0.47, 0.14)
    air = BodyPart(stomach.shape.scaled(about(0.45, 0.12)), 0.04, 0.02)
    aorta = organ(0.13, 0.32, 0.085, 0.095, 0.60, 0.17, 0.02)
    vein = organ(-0.16, 0.34, 0.09, 0.08, 0.58, 0.17, 0.03)
    left_kidney, right_kidney = (
        organ(side * 0.47, 0.50, 0.16, 0.24, 0.57, 0.6 + kidneys / 2, 0.06) for side in (-1, 1)
    )
    liver = organ(-0.45, -0.16, 0.50, 0.60, 0.585, 0.27)
    spleen = organ(0.76, 0.10, 0.20, 0.34, 0.57, 0.20)
    muscles = [organ(side * 0.24, 0.72, 0.13, 0.16, 0.51, 0.09) for side in (-1, 1)]
    outside = (BodyPart(body, 0.26, 0.03), BodyPart(wall, 0.50, 0.08), BodyPart(inner, 0.40, 0.08))
    organs = (liver, spleen, stomach, air, *muscles, left_kidney, right_kidney, aorta, vein, spine, canal)
    ribs = _ribs(stream, wall, inner)
    closed = (spine.shape, canal.shape, air.shape, left_kidney.shape, right_kidney.shape)
    return Anatomy((*outside, *organs, *ribs), inner, closed)


def _ribs(stream: np.random.RandomState, wall: Blob, inner: Blob) -> list[BodyPart]:
    """The ribs: in the body's wall, except its front."""
    ribs = []
    for side in (-1, 1):
        begin = stream.uniform(-0.1, 0.1)
        for number in range(RIBS):
            angle = np.pi / 2 + side * (0.75 + begin + 0.47 * number)  # from the back to the front
            rx, ry = (wall.rx + inner.rx) / 2, (wall.ry + inner.ry) / 2
            x, y = wall.x + rx * np.cos(angle), wall.y + ry * np.sin(angle)
            along = float(np.arctan2(ry * np.cos(angle), -rx * np.sin(angle)))
            ribs.append(BodyPart(Blob(float(x), float(y), 0.075, 0.026, along), float(stream.uniform(0.72, 0.9)), 0.1))
    return ribs


def painted(parts: Sequence[BodyPart], grid: Grid) -> tuple[Plane, Plane]:
    """Density and uptake [size, size], each part over those before it."""
    density, uptake = np.zeros((grid.size, grid.size)), np.zeros((grid.size, grid.size))
    for part in parts:
        cover = part.shape.cover(grid)
        density += cover * (part.density - density)
        uptake += cover * (part.uptake - uptake)
    return density, uptake
