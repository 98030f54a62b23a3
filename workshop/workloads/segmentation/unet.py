"""A small 2-D U-Net (Ronneberger et al. 2015, arXiv:1505.04597): down to see what is around a pixel, up again to say
where, with every level's details handed across.

Unlike there, borders are padded, so that masks are as large as images, and what passes through is normalised: by
default in groups of channels of one image (Wu and He 2018, arXiv:1803.08494), which keeps nothing. Batch normalisation
keeps running means of what passes through. Institutions with scanners of their own have others, so that the average of
a federation fits nobody's pictures, and they tell of the images beside the weights; Hsieh et al. 2020,
arXiv:1910.00189, compare both where data differ.
"""

from __future__ import annotations

from typing import Any

from workshop.engine.tensorflow import tensorflow

GROUPS = 4


def unet(size: int, channels: int, *, depth: int, filters: int, norm: str = "group") -> Any:
    """A Keras model for images [n, size, size, channels] that gives a logit for each pixel, [n, size, size, 1].

    `depth` times the image is halved and its channels are doubled, from `filters` on; `size` has to be a multiple of
    2 ** depth. `norm` is "none", "batch" or "group".
    """
    keras = tensorflow().keras
    layers = keras.layers

    def twice(x: Any, width: int) -> Any:
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(x)
            if norm == "batch":
                x = layers.BatchNormalization()(x)
            elif norm == "group":
                x = layers.GroupNormalization(GROUPS)(x)
            x = layers.ReLU()(x)
        return x

    x = inputs = layers.Input((size, size, channels))
    across = []
    for level in range(depth):
        x = twice(x, filters << level)
        across.append(x)
        x = layers.MaxPooling2D()(x)
    x = twice(x, filters << depth)
    for level in reversed(range(depth)):
        x = layers.Conv2DTranspose(filters << level, 2, strides=2, kernel_initializer="he_normal")(x)
        x = twice(layers.Concatenate()([across[level], x]), filters << level)
    return keras.Model(inputs, layers.Conv2D(1, 1)(x))
