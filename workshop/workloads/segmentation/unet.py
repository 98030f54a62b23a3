"""A small 2-D U-Net (Ronneberger et al. 2015, arXiv:1505.04597): down to see what is around a pixel, up again to say
where, with every level's details handed across.

Unlike there, borders are padded, so that masks are as large as images, and what passes through is normalised in groups
of channels of one image (Wu and He 2018, arXiv:1803.08494): the running means of batch normalisation would differ from
institution to institution, and their average would fit nobody's pictures (Hsieh et al. 2020, arXiv:1910.00189).

Attention gates (Oktay et al. 2018, arXiv:1804.03999) multiply what is handed across with a value from 0 to 1 for each
pixel, computed from it and from the coarser level, so that the network can leave out what is far from any lesion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workshop.engine.tensorflow import tensorflow

DEPTH, FILTERS, GROUPS = 3, 8, 4
SUMMARY = f"U-Net of depth {DEPTH}, from {FILTERS} channels on"


def unet(size: int, channels: int, attention: bool = False, dropout: Sequence[float] = ()) -> Any:
    """A Keras model for images [n, size, size, channels] that gives a logit for each pixel, [n, size, size, 1].

    `DEPTH` times the image is halved and its channels are doubled, from `FILTERS` on; `size` has to be a multiple of
    2 ** DEPTH. With `attention`, the layers gate0, gate1 and so on, one of each level, give the values of the gates.
    `dropout` has the rates of the levels, from the first to the bottom; empty: no level leaves anything out.
    """
    keras = tensorflow().keras
    layers = keras.layers

    def twice(x: Any, level: int) -> Any:
        width = FILTERS << level
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(x)
            x = layers.ReLU()(layers.GroupNormalization(GROUPS)(x))
        return layers.Dropout(dropout[level])(x) if dropout and dropout[level] else x

    def gated(skip: Any, coarser: Any, level: int) -> Any:
        """Equations 1 and 2 of the paper, on the coarser level's pixels; then as many values as `skip` has pixels."""
        width = FILTERS << level
        both = layers.Add()([layers.Conv2D(width, 2, 2, use_bias=False)(skip), layers.Conv2D(width, 1)(coarser)])
        values = layers.Conv2D(1, 1, activation="sigmoid")(layers.ReLU()(both))
        gate = layers.UpSampling2D(interpolation="bilinear", name=f"gate{level}")(values)
        return layers.Multiply()([skip, gate])

    x = inputs = layers.Input((size, size, channels))
    across = []
    for level in range(DEPTH):
        x = twice(x, level)
        across.append(x)
        x = layers.MaxPooling2D()(x)
    x = twice(x, DEPTH)
    for level in reversed(range(DEPTH)):
        skip = gated(across[level], x, level) if attention else across[level]
        x = layers.Conv2DTranspose(FILTERS << level, 2, strides=2, kernel_initializer="he_normal")(x)
        x = twice(layers.Concatenate()([skip, x]), level)
    return keras.Model(inputs, layers.Conv2D(1, 1)(x))
