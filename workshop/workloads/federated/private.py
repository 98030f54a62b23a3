"""Differential privacy by clipping and noise, of institutions' updates or of images' gradients.

What is clipped can move a sum by the clip at most, and noise of that size hides whether it was there at all. It hides
that in the shared model, and only there: accuracies, losses, distances, the share that was clipped and how many images
an institution has are told without noise here, for the lesson, and epsilon doesn't cover them. Noise is drawn from the
run's seed, so that a run can be repeated; in earnest it has to come from where nobody can draw it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.step import PerExample
from workshop.workloads.federated.local import Descent, Learner, Vector, for_any_batch

AGGREGATOR_NOISE, IMAGES_NOISE = 72, 73  # streams of a seed


def clipped(update: Vector, clip: float) -> tuple[Vector, bool]:
    """An update of a norm of at most `clip`, in the same direction: u / max(1, |u| / clip); and whether it was longer.
    One that is no number stays what it is."""
    norm = float(np.linalg.norm(update.astype(np.float64)))
    if not clip < norm < np.inf:
        return update, False
    return (update.astype(np.float64) * (clip / norm)).astype(np.float32), True


def noised(
    mean: NDArray[np.float64], used: int, expected: float, spread: float, seed: Sequence[int]
) -> NDArray[np.float64]:
    """(sum + Gaussian noise of standard deviation `spread`) / `expected`, from the mean of `used` updates: McMahan et
    al. 2018, arXiv:1710.06963, algorithm 1 with equal weights and the estimator f~. Dividing by how many are expected,
    not by how many there are, keeps one institution's influence at clip / expected."""
    total = mean * used + spread * stream(seed).standard_normal(len(mean))
    return total / expected


def stream(seed: Sequence[int]) -> np.random.Generator:
    """Noise of its own for each seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(seed))))


class PrivateLearner(Learner):
    """A learner of which each image moves each step by `clip` at most, before noise: DP-SGD, Abadi et al. 2016,
    arXiv:1607.00133, algorithm 1. `noise` is the noise's standard deviation over `clip`."""

    def __init__(
        self, model: Any, loss: PerExample, score: PerExample, *given: Any, clip: float, noise: float, **named: Any
    ) -> None:
        """Otherwise as `Learner`. Raises BadInput for a network whose images know of each other within a batch."""
        super().__init__(model, loss, score, *given, **named)
        tf = tensorflow()
        if any(isinstance(layer, tf.keras.layers.BatchNormalization) for layer in _layers(model)):
            raise BadInput(
                "A network with batch normalisation mixes the images of a batch, so that none has a gradient of its "
                "own to clip; take privacy institutions, or a network without it."
            )
        self._spread, self._trained = noise * clip, model.trainable_variables
        self._clipped = for_any_batch(_clipped(model, loss, score, clip))
        self._apply = tf.function(_noisy(self._trained, self._descent), autograph=False)
        self._step = self._private_step
        self.begin(1.0, stream([0]))

    def begin(self, expected: float, noise: np.random.Generator) -> None:
        """Training from here on: steps of so many images on average, with noise from this stream."""
        self._expected, self._noise = expected, noise
        self._cut: list[Any] = []
        self._read = 0

    @property
    def cut(self) -> tuple[float, float]:
        """Gradients that were longer than `clip` since `begin`, and how many there were."""
        return float(sum(one.numpy() for one in self._cut)), float(self._read)

    def _private_step(self, images: Any, labels: Any) -> Any:
        told, *sums = self._clipped(images, labels)
        size = sum(int(np.prod(one.shape)) for one in sums)
        noise = self._spread * self._noise.standard_normal(size, np.float32)
        self._apply(sums, self._tf.constant(noise), self._tf.constant(self._expected, self._tf.float32))
        self._cut.append(told[2])
        self._read += int(images.shape[0])
        return told[:2]


def _layers(model: Any) -> Iterator[Any]:
    """All layers, those of networks within it, too."""
    for layer in model.layers:
        yield layer
        if hasattr(layer, "layers"):
            yield from _layers(layer)


def _clipped(model: Any, loss: PerExample, score: PerExample, clip: float) -> Any:
    """A function of images and labels, any number: float64 [3], the sums of the losses and the scores and how many
    gradients were clipped; and the sums of the clipped gradients. Images go through the network one after the other,
    with one gradient in memory: on a few cores it is as fast as all at once."""
    tf = tensorflow()
    values = [variable.value for variable in model.trainable_variables]

    def one(image: Any, label: Any) -> tuple[Any, list[Any]]:
        with tf.GradientTape() as tape:
            outputs = model(image, training=True)
            losses = loss(label, outputs)
        gradients = tape.gradient(losses, values)
        times = tf.maximum(tf.linalg.global_norm(gradients) / clip, 1.0)
        told = (losses[0], score(label, outputs)[0], times > 1)
        return tf.stack([tf.cast(value, tf.float64) for value in told]), [gradient / times for gradient in gradients]

    def function(images: Any, labels: Any) -> list[Any]:
        def body(at: Any, *sums: Any) -> list[Any]:
            told, gradients = one(images[at : at + 1], labels[at : at + 1])
            return [at + 1, *(total + more for total, more in zip(sums, [told, *gradients], strict=True))]

        nothing = [tf.zeros(3, tf.float64), *(tf.zeros_like(value) for value in values)]
        return tf.while_loop(lambda at, *_: at < tf.shape(labels)[0], body, [0, *nothing])[1:]

    return function


def _noisy(variables: Sequence[Any], descend: Descent) -> Any:
    """A function of the sums of gradients, noise [parameters] and the number of images to divide both by: a step."""
    tf = tensorflow()

    def function(sums: Sequence[Any], noise: Any, expected: Any) -> None:
        parts = tf.split(noise, [int(np.prod(variable.shape)) for variable in variables])
        descend([(total + tf.reshape(part, total.shape)) / expected for total, part in zip(sums, parts, strict=True)])

    return function
