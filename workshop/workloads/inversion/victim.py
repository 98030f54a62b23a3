"""The institution's side: its images, its network, the update that it makes of them, the protection of this update, and
what the protection costs the aggregator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.shards import order
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated.communication.compression import EightBit, TopK
from workshop.workloads.federated.mathematics.privacy import clipped, stream
from workshop.workloads.federated.training.learner import LocalLearner, Vector
from workshop.workloads.inversion import InversionParams, first_digits
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data.images import Images
from workshop.workloads.mnist.heldout import as_inputs

DRAW = 91  # stream of a seed
FILTERS, STRIDES = 12, (2, 2, 1)  # of three convolutions
WIDE = 0.5  # weights begin between minus and plus this
NOISE, ROUNDING = 92, 93  # streams of a seed


@dataclass(frozen=True)
class Private:
    """Images float32 [n, 28, 28, 1] from 0 to 1, their digits [n], and their positions among all images."""

    images: NDArray[np.float32]
    labels: NDArray[np.int32]
    positions: NDArray[np.int64]

    def part(self, begin: int, end: int) -> Private:
        return Private(self.images[begin:end], self.labels[begin:end], self.positions[begin:end])


def private(params: InversionParams, images: Images, rank: int, ranks: int) -> Private:
    """All images behind the update that a rank's aggregator sees, the first institution's first. The very first one
    shows the rank's own digit, the others are random; no image occurs twice."""
    shuffled = order(len(images.train_labels), [params.seed, DRAW, rank])
    digit = first_digits(params, ranks)[rank]
    first = shuffled[np.flatnonzero(images.train_labels[shuffled] == digit)[0]]
    others = shuffled[shuffled != first][: params.behind - 1]
    positions = np.concatenate([[first], others]).astype(np.int64)
    return Private(
        as_inputs(images.train_images[positions]), images.train_labels[positions].astype(np.int32), positions
    )


def updates(params: InversionParams, learner: LocalLearner, start: Vector, all_of_them: Private) -> list[Vector]:
    """The change that each institution's training makes to the shared model: one step of gradient descent on all of its
    images at once, several only where these are the protection. An institution that learned for real would send the
    same."""
    steps = params.steps if params.protect == "epochs" else 1
    updates_made = []
    for begin in range(0, params.behind, params.images):
        own_images = all_of_them.part(begin, begin + params.images)
        learner.load(start)
        learner.train(own_images.images, own_images.labels, [np.arange(params.images)] * steps)
        updates_made.append(learner.vector() - start)
    return updates_made


def build_model(name: str, seed: int) -> Any:
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


@dataclass(frozen=True)
class ProtectedUpdate:
    """The update that the aggregator sees, float32 [parameters], and the share of it in dB that comes from learning
    (None: all of it)."""

    update: Vector
    signal_to_noise: float | None = None


def protected(params: InversionParams, updates: Sequence[Vector], rank: int) -> ProtectedUpdate:
    """The protected update of one institution, or the sum of the updates of all institutions.

    The sum is that of a secure aggregation, whose masks cancel (Bonawitz et al. 2017, Practical secure aggregation for
    privacy-preserving machine learning, CCS), divided by the number of institutions, since all have as many images. The
    noise is an institution's own, as large as that which an aggregator adds to a whole sum.
    """
    first = updates[0]
    if params.protect == "sum":
        return ProtectedUpdate(np.asarray(np.mean(updates, axis=0, dtype=np.float64), np.float32))
    if params.protect == "clip-noise":
        clipped_update, _ = clipped(first, params.clip)
        noise = params.noise * params.clip * stream([params.seed, NOISE, rank]).standard_normal(len(clipped_update))
        sent = (clipped_update + noise).astype(np.float32)
        return ProtectedUpdate(sent, signal_to_noise(clipped_update, sent))
    if params.protect in ("topk", "8bit"):
        codec = TopK(len(first), params.keep) if params.protect == "topk" else EightBit(len(first))
        sent = codec.decode(codec.encode(first, np.random.RandomState([ROUNDING, params.seed, rank])))
        return ProtectedUpdate(sent, signal_to_noise(first, sent))
    return ProtectedUpdate(first)


def signal_to_noise(original: Vector, sent: Vector) -> float | None:
    """20 log10 (|u| / |sent - u|), in dB: 0 where the error is as long as the update, less where it is longer. None
    where there is no error, or no update."""
    length, error = (float(np.linalg.norm(vector.astype(np.float64))) for vector in (original, sent - original))
    return 20 * math.log10(length / error) if error > 0 and length > 0 else None
