"""Patients who don't exist: a slice of CT, one of PET, and where the lesions are.

The network has to tell three kinds of findings apart, which have the same sizes and shapes:

- a lesion is a little denser than what is around it, and takes up much of the tracer;
- a benign nodule is as dense, and takes up none: on CT alone nothing tells it from a lesion;
- a hot spot takes up as much, and isn't dense: on PET alone (bowel, inflammation) nothing tells it from a lesion.

CT shows edges, faintly and in noise; PET shows what is hot, blurred. The kidneys are hot in everybody. That is how
combined scanners are used, and all that these pictures have of real ones: they are synthetic, their numbers mean
neither Hounsfield units nor standardised uptake values, and what a network learns of them is good for no patient.

Nobody's body is copied here. Organs of the upper abdomen are where a textbook has them (the liver on the left of the
image, as radiologists look at patients from below), and their sizes, places and shapes vary from patient to patient by
free choice.

Draws are those of NumPy's RandomState, which stay the same in every version of NumPy (NEP 19): ranks on several hosts
may have several.

A `Blob` is a soft shape on a grid, an ellipse with a wavy edge. It has coordinates from -1 to 1, right and down, so
that a patient is the same one at any number of pixels.

A `ScannerModel` is an institution's own way of taking pictures, for CT and for PET: their contrast, brightness,
sharpness and noise, and the size of its patients' lesions. It is drawn from a seed within the ranges below, which are
invented. They are wide enough that a network that knows one institution's pictures fails with another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

ANATOMY, FINDINGS, NOISE = 52, 53, 54  # streams of a seed
LESIONS = (0.12, 0.44, 0.28, 0.16)  # shares of patients with none, one, two and three
BENIGN, HOT = (1, 2), (1, 2)  # how many of these a patient has, each as likely
DENSER = (0.10, 0.16)  # than what is around it, a lesion or a nodule
HOTTER = (0.45, 0.75)  # uptake of a lesion or a hot spot above that
SMALLEST, LARGEST = 2.0, 9.0  # radii, in 64ths of the image's width
TRIES = 60  # places for a finding, before there is one less
SHRINKING = 0.99  # times its size before, what is tried elsewhere
SEPARATION = 1.25  # times their radii, the least that two findings are from each other
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


@dataclass(frozen=True)
class Abnormality:
    """Something in the body by which it differs from a healthy one: how much denser and how much hotter it is."""

    shape: Blob
    denser: float
    hotter: float

    @property
    def lesion(self) -> bool:
        return self.denser > 0 and self.hotter > 0


@dataclass(frozen=True)
class Patient:
    """A body with its lesions and other abnormalities, the same at any image size and on any scanner."""

    anatomy: Anatomy
    findings: tuple[Abnormality, ...]

    @property
    def lesions(self) -> list[Abnormality]:
        return [finding for finding in self.findings if finding.lesion]

    def mask(self, size: int) -> NDArray[np.bool_]:
        """The pixels of the lesions, [size, size]."""
        return np.any([np.zeros((size, size), bool), *(lesion.shape.mask(size) for lesion in self.lesions)], axis=0)

    def slices(self, size: int) -> tuple[Plane, Plane]:
        """Density and uptake [size, size] before the scanner: each part of the body over those before it."""
        density, uptake = np.zeros((size, size)), np.zeros((size, size))
        for part in self.anatomy.parts:
            cover = part.shape.cover(size)
            density += cover * (part.density - density)
            uptake += cover * (part.uptake - uptake)
        for finding in self.findings:
            cover = finding.shape.cover(size)
            density += cover * finding.denser
            uptake += cover * finding.hotter
        return density, uptake


def patient(key: Sequence[int], scanner: ScannerModel) -> Patient:
    """The patient of a key (a seed and numbers): the body is drawn from that alone; how large findings are is the
    institution's, too."""
    body = anatomy(np.random.RandomState([ANATOMY, *key]))
    stream = np.random.RandomState([FINDINGS, *key])
    lesions = int(np.searchsorted(np.cumsum(LESIONS), stream.uniform(), side="right"))
    kinds = [(1, 1)] * min(lesions, len(LESIONS) - 1)
    kinds += [(1, 0)] * BENIGN[stream.randint(len(BENIGN))] + [(0, 1)] * HOT[stream.randint(len(HOT))]
    findings: list[Abnormality] = []
    for dense, hot in (kinds[at] for at in stream.permutation(len(kinds))):  # who comes last finds less room
        shape = _place(stream, body, scanner, [finding.shape for finding in findings])
        denser, hotter = stream.uniform(*DENSER), stream.uniform(*HOTTER)
        if shape is not None:
            findings.append(Abnormality(shape, dense * denser, hot * hotter))
    return Patient(body, tuple(findings))


def _place(stream: np.random.RandomState, body: Anatomy, scanner: ScannerModel, others: Sequence[Blob]) -> Blob | None:
    """A shape somewhere in the body where nothing else is, the smaller the longer it is looked for; None where no room
    was found."""
    radius_drawn = scanner.radius * np.exp(scanner.spread * stream.standard_normal())
    radius = 2 / UNIT * float(np.clip(radius_drawn, SMALLEST, LARGEST))
    longer, turn, waves = stream.uniform(1, 1.35), stream.uniform(0, np.pi), wavy(stream, 0.14)
    for _ in range(TRIES):
        x = body.inner.x + body.inner.rx * stream.uniform(-1, 1)
        y = body.inner.y + body.inner.ry * stream.uniform(-1, 1)
        free = all(
            np.hypot(x - other.x, y - other.y) > SEPARATION * (radius + max(other.rx, other.ry)) for other in others
        )
        if free and body.room(x, y, radius):
            return Blob(float(x), float(y), radius * longer, radius / longer, float(turn), waves)
        radius *= SHRINKING
    return None


def scans(
    patients: Sequence[Patient], keys: Sequence[Sequence[int]], scanners: Sequence[ScannerModel], size: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Images [n, size, size, 2] (CT, PET) of patients on their scanners, values from 0 to 1, and masks
    [n, size, size, 1], 1 where there is a lesion. A patient's noise is that of the key."""
    images = np.empty((len(patients), size, size, 2), np.float32)
    masks = np.zeros((len(patients), size, size, 1), np.float32)
    for at, (patient_drawn, key, scanner) in enumerate(zip(patients, keys, scanners, strict=True)):
        density, uptake = patient_drawn.slices(size)
        stream = np.random.RandomState([NOISE, *key])
        images[at, ..., 0] = scanner.ct.picture(density, stream, CT_GRAIN)
        images[at, ..., 1] = scanner.pet.picture(uptake, stream, PET_GRAIN)
        masks[at, ..., 0] = patient_drawn.mask(size)
    return images, masks


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
