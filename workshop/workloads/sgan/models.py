"""The two nets: a generator of digits from noise, and a discriminator whose ten outputs serve both of its heads; images
as their input, and generated digits as pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.mnist.data.images import CLASSES, SIDE, png

PHILOX = 1  # TensorFlow's number for the algorithm
BLOCK = 4  # numbers that one value of the counter gives
DRAWS, GROUPS = 64, 4  # at most, of a step


class Noise:
    """The noise of one step. Each draw has a number, `what`, below 64.

    `groups` has a pair for each kind of examples in this rank's step: the number of the first example among the
    examples of all ranks, which may be a tensor (int64), and the number of examples. `step` may be a tensor, too. Use
    it inside a `tf.function`.

    Numbers are drawn from a seed, the step and the example's number, so all ranks together draw the same numbers as one
    process with the union of their batches. The generator is Philox (Salmon et al., Parallel random numbers: as easy as
    1, 2, 3, SC 2011). Its n-th block of four numbers is a function of a key and n. The example's number determines the
    first block of an example.
    """

    def __init__(self, seed: int, step: Any, groups: Sequence[tuple[Any, int]]) -> None:
        self.tf = tensorflow()
        self.seed, self.step, self.groups = seed, step, groups

    def normal(self, what: int, shape: Sequence[int]) -> Any:
        """Standard normal numbers, float32 [examples of all groups, *shape]."""
        return self._draw(self.tf.raw_ops.StatelessRandomNormalV2, what, shape)

    def dropout(self, what: int, shape: Sequence[int], rate: float) -> Any:
        """0 with probability `rate`, else 1 / (1 - rate), of the same shape: the factors of dropout."""
        uniform = self._draw(self.tf.raw_ops.StatelessRandomUniformV2, what, shape)
        return self.tf.cast(uniform >= rate, self.tf.float32) / (1 - rate)

    def _draw(self, operation: Any, what: int, shape: Sequence[int]) -> Any:
        tf, size = self.tf, math.prod(shape)
        blocks = -(-size // BLOCK)  # of one example
        parts = []
        for group, (first, count) in enumerate(self.groups):
            stream = tf.constant((self.seed * DRAWS + what) * GROUPS + group, tf.int64)
            key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(
                seed=tf.stack([stream, tf.cast(self.step, tf.int64)])
            )
            ahead = tf.cast(tf.cast(first, tf.int64) * blocks, tf.uint64)
            counter += tf.stack([ahead, tf.constant(0, tf.uint64)])
            values = operation(shape=[count, blocks * BLOCK], key=key, counter=counter, alg=PHILOX, dtype=tf.float32)
            parts.append(tf.reshape(values[:, :size], [count, *shape]))
        return tf.concat(parts, axis=0) if len(parts) > 1 else parts[0]


RATE = 0.003  # of learning
LATENT = 32  # random numbers from which a digit is generated
WIDTHS = (16, 32, 32)  # filters of the discriminator's convolutions for images of 28x28
FURTHER = 16  # filters of the additional convolutions for larger images
INPUT_NOISE, DROPOUT = 0.3, 0.3
LATENT_DRAW, INPUT, DROPPED = 0, 1, 2  # numbers of draws; from DROPPED on, one for each convolution


class Discriminator:
    """Classifies images [n, size, size, 1] from 0 to 1 into ten digits, and separates real from generated ones. `model`
    is the Keras model for inference: images -> logits [n, 10].

    There is no batch normalisation, because each rank would have its own statistics. Convolutions with strides halve
    the image down to 4 x 4 (Radford et al., Unsupervised representation learning with deep convolutional generative
    adversarial networks, arXiv:1511.06434), so an image of twice the side has one more convolution.
    """

    def __init__(self, size: int) -> None:
        layers = tensorflow().keras.layers
        widths = [FURTHER] * further(size) + list(WIDTHS)
        self.convolutions = [
            layers.Conv2D(width, 5 if number == 0 else 3, 2, "same", activation="leaky_relu")
            for number, width in enumerate(widths)
        ]
        self.head = layers.Dense(CLASSES)
        inner = [*self.convolutions, layers.Flatten(), self.head]
        self.model = tensorflow().keras.Sequential([layers.Input((size, size, 1)), *inner])

    def __call__(self, images: Any, noise: Noise) -> Any:
        """Logits [n, 10] in training, with noise added to the images and dropout behind each convolution against
        overfitting to few images and labels (Salimans et al. add noise at each layer)."""
        hidden = images + INPUT_NOISE * noise.normal(INPUT, images.shape[1:])
        for number, convolution in enumerate(self.convolutions):
            hidden = convolution(hidden)
            hidden *= noise.dropout(DROPPED + number, hidden.shape[1:], DROPOUT)
        return self.head(tensorflow().reshape(hidden, [hidden.shape[0], -1]))


def generator(size: int) -> Any:
    """A Keras model: noise [n, LATENT] -> images [n, size, size, 1] from 0 to 1."""
    keras = tensorflow().keras
    layers = keras.layers
    side, widths = SIDE // 4, [16, 8] + [8] * further(size)
    inner = [layers.Dense(side * side * widths[0], activation="relu"), layers.Reshape((side, side, widths[0]))]
    inner += [layers.Conv2DTranspose(width, 4, 2, "same", activation="relu") for width in widths]
    inner.append(layers.Conv2D(1, 5, padding="same", activation="sigmoid"))
    return keras.Sequential([layers.Input((LATENT,)), *inner])


def optimizer(rate: float, net: Any) -> Any:
    """Adam with the first moment's decay at 0.5, as for GANs since Radford et al., built for a net's weights."""
    adam = tensorflow().keras.optimizers.Adam(rate, beta_1=0.5)
    adam.build(net.trainable_variables)
    return adam


def further(size: int) -> int:
    """How many more layers than for 28 x 28 an image of this side takes."""
    return (size // SIDE).bit_length() - 1


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
