"""What happens at an institution: training on its own images, and testing a model on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.step import PerExample, evaluation

AT_ONCE = 512  # images that are tested together
Vector = NDArray[np.float32]  # [parameters], all weights of a model in their order


@dataclass(frozen=True)
class Silo:
    """An institution's images, float32 [n, 28, 28, 1] with labels int32 [n]: those that it learns from, and those that
    it validates with."""

    images: NDArray[np.float32]
    labels: NDArray[np.int32]
    own_images: NDArray[np.float32]
    own_labels: NDArray[np.int32]


@dataclass(frozen=True)
class Sums:
    """Of some images: their losses, how many were read right, and how many there were."""

    loss: float = 0.0
    right: float = 0.0
    count: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.loss + other.loss, self.right + other.right, self.count + other.count)

    @property
    def accuracy(self) -> float:
        return self.right / self.count if self.count else float("nan")

    @property
    def mean_loss(self) -> float:
        return self.loss / self.count if self.count else float("nan")

    def values(self) -> list[float]:
        return [self.loss, self.right, self.count]


class Learner:
    """One network, into which the models of all institutions of a rank are put in turn: memory doesn't grow with
    them, and everything is compiled once."""

    def __init__(self, model: Any, loss: PerExample, correct: PerExample, rate: float, mu: float | None = None) -> None:
        """`rate` is that of plain gradient descent; with `mu`, FedProx's proximal term is added to the loss."""
        tf = tensorflow()
        self._tf, self._model = tf, model
        self._test = evaluation(model, loss)
        self._anchors = [
            tf.Variable(tf.zeros_like(value.value), trainable=False) for value in model.trainable_variables
        ]
        self._mu = mu
        self._step = _step(model, loss, correct, rate, mu, self._anchors)

    @property
    def parameters(self) -> int:
        return sum(int(np.prod(weight.shape)) for weight in self._model.weights)

    def vector(self) -> Vector:
        """The weights as they are now, a copy."""
        return np.concatenate([weight.numpy().ravel() for weight in self._model.weights]).astype(np.float32)

    def load(self, vector: Vector) -> None:
        """Put in a model. FedProx holds what is trained from here on near it."""
        at = 0
        for weight in self._model.weights:
            size = int(np.prod(weight.shape))
            weight.assign(vector[at : at + size].reshape(weight.shape))
            at += size
        if self._mu is not None:
            for anchor, value in zip(self._anchors, self._model.trainable_variables, strict=True):
                anchor.assign(value.value)

    def train(
        self, images: NDArray[np.float32], labels: NDArray[np.int32], batches: Sequence[NDArray[np.int64]]
    ) -> Sums:
        """A step for each batch of positions; returns what the network made of them before each step."""
        constant, told = self._tf.constant, []
        for positions in batches:
            told.append(self._step(constant(images[positions]), constant(labels[positions])))
        loss, right = np.sum([one.numpy() for one in told], axis=0) if told else (0.0, 0.0)
        return Sums(float(loss), float(right), float(sum(map(len, batches))))

    def test(self, images: NDArray[np.float32], labels: NDArray[np.int32]) -> Sums:
        """What the network makes of some images."""
        sums = Sums()
        for at in range(0, len(labels), AT_ONCE):
            those = labels[at : at + AT_ONCE]
            losses, outputs = self._test(images[at : at + AT_ONCE], those)
            sums += Sums(float(losses.sum(dtype=np.float64)), float((outputs.argmax(1) == those).sum()), len(those))
        return sums


def _step(
    model: Any, loss: PerExample, correct: PerExample, rate: float, mu: float | None, anchors: Sequence[Any]
) -> Any:
    """A compiled step of plain gradient descent on the mean loss of a batch of any size; returns float64 [2]: the sum
    of the losses and how many were right.

    FedProx minimises F(w) + mu / 2 |w - w_t|^2 (Li et al. 2020, arXiv:1812.06127, equation 2), whose second term adds
    mu (w - w_t) to the gradient.
    """
    tf = tensorflow()
    variables = model.trainable_variables

    def step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = model(images, training=True)
            losses = loss(labels, outputs)
            objective = tf.reduce_mean(losses)
        gradients = tape.gradient(objective, [variable.value for variable in variables])
        for variable, gradient, anchor in zip(variables, gradients, anchors, strict=True):
            if mu is not None:
                gradient += mu * (variable.value - anchor)
            variable.value.assign_sub(rate * gradient)
        right = tf.reduce_sum(tf.cast(correct(labels, outputs), tf.float64))
        return tf.stack([tf.cast(tf.reduce_sum(losses), tf.float64), right])

    shape = [None, *model.inputs[0].shape[1:]]
    signature = [tf.TensorSpec(shape, tf.float32), tf.TensorSpec([None], tf.int32)]
    return tf.function(step, input_signature=signature, autograph=False)
