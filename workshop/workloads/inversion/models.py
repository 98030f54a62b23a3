"""The networks whose updates are read."""

from __future__ import annotations

from typing import Any

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.mnist import models

FILTERS, STRIDES = 12, (2, 2, 1)  # of three convolutions
WIDE = 0.5  # weights begin between minus and plus this


def build(name: str, seed: int) -> Any:
    """A Keras model for images [n, 28, 28, 1] from 0 to 1 that gives ten logits each, with weights drawn from a seed.

    `dense` is the workloads' own, whose first layer is dense. `cnn` is the one that Zhu et al. attack (Deep leakage
    from gradients, arXiv:1906.08935, section 4): convolutions with strides and sigmoids in place of pooling and ReLU,
    because the search needs the gradient's own gradient, and weights that begin uniformly between -0.5 and 0.5.
    """
    keras = tensorflow().keras
    keras.utils.set_random_seed(seed)
    if name == "dense":
        return models.build("dense", {})

    def wide() -> dict[str, Any]:
        uniform = keras.initializers.RandomUniform
        return {"kernel_initializer": uniform(-WIDE, WIDE), "bias_initializer": uniform(-WIDE, WIDE)}

    layers = keras.layers
    convolutions = [layers.Conv2D(FILTERS, 5, stride, "same", activation="sigmoid", **wide()) for stride in STRIDES]
    last = [layers.Flatten(), layers.Dense(models.CLASSES, **wide())]
    return keras.Sequential([layers.Input(models.SHAPE), *convolutions, *last])
