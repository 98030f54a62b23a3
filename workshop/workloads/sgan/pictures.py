"""Images as the nets take them, and what the generator makes of noise as pictures to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from workshop.engine.data.digits import SIDE
from workshop.engine.data.images import png
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.sgan.models import LATENT

SHOWN = 24  # generated digits that are kept
SEED = 11


def as_inputs(pixels: Any, size: int) -> Any:
    """Bytes [n, 28, 28] as the nets take them: float32 [n, size, size, 1] from 0 to 1, enlarged bilinearly."""
    tf = tensorflow()
    images = tf.cast(pixels, tf.float32)[..., tf.newaxis] / 255
    return images if size == SIDE else tf.image.resize(images, (size, size), "bilinear")


def generated(generator: Any, classifier: Any) -> list[dict[str, Any]]:
    """Digits made of always the same noise, as base64 of PNGs, and how the classifier reads each (`label`)."""
    noise = np.random.default_rng(SEED).standard_normal((SHOWN, LATENT)).astype(np.float32)
    images = generator(noise, training=False)
    read = classifier(images, training=False).numpy().argmax(axis=1)
    pixels = np.rint(255 * np.nan_to_num(images.numpy()[..., 0])).astype(np.uint8)
    return [{"png": png(one), "label": int(label)} for one, label in zip(pixels, read, strict=True)]
