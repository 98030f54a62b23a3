"""Images as input of the nets, and generated digits as pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.mnist.data.digits import SIDE
from workshop.workloads.mnist.data.images import png
from workshop.workloads.sgan.models import LATENT

COUNT = 24  # generated digits that are kept
SEED = 11


def as_inputs(pixels: Any, size: int) -> Any:
    """Bytes [n, 28, 28] as input of the nets: float32 [n, size, size, 1] from 0 to 1, enlarged bilinearly."""
    tf = tensorflow()
    images = tf.cast(pixels, tf.float32)[..., tf.newaxis] / 255
    return images if size == SIDE else tf.image.resize(images, (size, size), "bilinear")


def generated(generator: Any, classifier: Any) -> list[dict[str, Any]]:
    """Digits generated from constant noise, as base64 of PNGs, with the classifier's label (`label`)."""
    noise = np.random.default_rng(SEED).standard_normal((COUNT, LATENT)).astype(np.float32)
    images = generator(noise, training=False)
    read = classifier(images, training=False).numpy().argmax(axis=1)
    pixels = np.rint(255 * np.nan_to_num(images.numpy()[..., 0])).astype(np.uint8)
    return [{"png": png(image), "label": int(label)} for image, label in zip(pixels, read, strict=True)]
