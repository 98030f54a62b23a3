"""Each institution's own way of taking pictures: contrast, brightness of the paper and noise, drawn from a seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

SCANNER, NOISE = 34, 35  # streams of a seed


@dataclass(frozen=True)
class Scanner:
    """What becomes of an image x from 0 (paper) to 1 (ink): `offset + contrast * x`, plus normal noise of this standard
    deviation; kept within 0 and 1."""

    contrast: float
    offset: float
    noise: float

    def as_json(self) -> dict[str, float]:
        return {name: round(value, 3) for name, value in asdict(self).items()}

    def taken(self, images: NDArray[np.float32], seed: tuple[int, ...]) -> NDArray[np.float32]:
        """The images as this scanner takes them; `seed` is that of the noise, the same pictures for the same one."""
        stream = np.random.RandomState([NOISE, *seed])
        seen = self.offset + self.contrast * images + self.noise * stream.standard_normal(images.shape)
        return np.clip(seen, 0, 1).astype(np.float32)


def scanner(institution: int, seed: int) -> Scanner:
    """An institution's scanner."""
    stream = np.random.RandomState([SCANNER, seed, institution])
    contrast = stream.uniform(0.35, 1.0)
    return Scanner(
        contrast=contrast,
        offset=stream.uniform(0.0, 1.0 - contrast),
        noise=stream.uniform(0.0, 0.25),
    )
