"""The network, the same as that of the workshop's own runs (workshop/workloads/mnist/models.py).

Layers have names here, since OpenFL knows weights by their names.
"""

from __future__ import annotations

import keras
from keras import layers

SHAPE, CLASSES = (28, 28, 1), 10


def build(network: str) -> keras.Model:
    """A model for images [n, 28, 28, 1] from 0 to 1 that gives ten logits each: "cnn" or "dense"."""
    inner = [layers.Flatten(), layers.Dense(128, activation="relu", name="hidden")]
    if network == "cnn":
        inner = [
            layers.Conv2D(32, 3, activation="relu", name="first"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu", name="second"),
            layers.MaxPooling2D(),
            *inner,
        ]
    return keras.Sequential([layers.Input(SHAPE), *inner, layers.Dense(CLASSES, name="digits")])
