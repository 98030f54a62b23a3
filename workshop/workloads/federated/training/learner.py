"""Training at an institution on its own images, and testing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.step import PerExample, evaluation
from workshop.workloads.federated.training.task import Labels

Vector = NDArray[np.float32]  # [parameters], all weights of a model in their order


@dataclass(frozen=True)
class Sums:
    """Sums over some images: their losses, their scores, and how many there were."""

    loss: float = 0.0
    scores: float = 0.0
    count: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.loss + other.loss, self.scores + other.scores, self.count + other.count)

    @property
    def mean_score(self) -> float:
        return self.scores / self.count if self.count else float("nan")

    @property
    def mean_loss(self) -> float:
        return self.loss / self.count if self.count else float("nan")

    def values(self) -> list[float]:
        return [self.loss, self.scores, self.count]


class LocalLearner:
    """One network for all institutions of a rank, one after the other: memory doesn't grow, and it is compiled once."""

    def __init__(
        self,
        model: Any,
        loss: PerExample,
        score: PerExample,
        rate: float,
        mu: float | None = None,
        *,
        optimizer: str = "sgd",
        at_once: int = 512,
    ) -> None:
        """`rate` is the learning rate of the `optimizer`, "sgd" or "adam". `mu` adds FedProx's proximal term.
        `at_once` images are tested together."""
        tf = tensorflow()
        self._tf, self._model, self._at_once = tf, model, at_once

        def measured(labels: Any, outputs: Any) -> Any:
            scores = tf.cast(score(labels, outputs), tf.float32)
            return tf.stack([tf.cast(loss(labels, outputs), tf.float32), scores], axis=1)

        self._test = evaluation(model, measured)
        self._anchors = [
            tf.Variable(tf.zeros_like(value.value), trainable=False) for value in model.trainable_variables
        ]
        self._mu = mu
        self._optimizer = tf.keras.optimizers.Adam(rate) if optimizer == "adam" else None
        if self._optimizer is not None:
            self._optimizer.build(model.trainable_variables)
        self._step = for_any_batch(_step(model, loss, score, rate, mu, self._anchors, self._optimizer))

    @property
    def parameters(self) -> int:
        return sum(int(np.prod(weight.shape)) for weight in self._model.weights)

    def vector(self) -> Vector:
        """Return a copy of the weights."""
        return np.concatenate([weight.numpy().ravel() for weight in self._model.weights]).astype(np.float32)

    def load(self, vector: Vector) -> None:
        """Load a model's weights. FedProx then keeps training near them, and Adam starts with an empty state."""
        at = 0
        for weight in self._model.weights:
            size = int(np.prod(weight.shape))
            weight.assign(vector[at : at + size].reshape(weight.shape))
            at += size
        if self._optimizer is not None:
            for state in self._optimizer.variables:
                if state is not self._optimizer.learning_rate:
                    state.assign(self._tf.zeros_like(state.value))
        if self._mu is not None:
            for anchor, value in zip(self._anchors, self._model.trainable_variables, strict=True):
                anchor.assign(value.value)

    def train(
        self,
        images: NDArray[np.float32],
        labels: Labels,
        batches: Sequence[NDArray[np.int64]],
        ends: Callable[[], bool] = lambda: False,
    ) -> Sums:
        """Take a step for each batch of positions, until `ends`; return the sums before each step."""
        constant, step_sums, count = self._tf.constant, [], 0
        for positions in batches:
            if ends():
                break
            step_sums.append(self._step(constant(images[positions]), constant(labels[positions])))
            count += len(positions)
        loss, scores = np.sum([step.numpy() for step in step_sums], axis=0) if step_sums else (0.0, 0.0)
        return Sums(float(loss), float(scores), float(count))

    def outputs(self, images: NDArray[np.float32], labels: Labels) -> NDArray[np.float32]:
        """Return the network's outputs for some images, [n, ...]."""
        parts = (slice(at, at + self._at_once) for at in range(0, len(labels), self._at_once))
        return np.concatenate([self._test(images[part], labels[part])[1] for part in parts])

    def test(self, images: NDArray[np.float32], labels: Labels) -> Sums:
        """Return the network's sums over some images."""
        sums = Sums()
        for at in range(0, len(labels), self._at_once):
            part = slice(at, at + self._at_once)
            loss, scores = self._test(images[part], labels[part])[0].sum(axis=0, dtype=np.float64)
            sums += Sums(float(loss), float(scores), len(labels[part]))
        return sums


def _step(
    model: Any,
    loss: PerExample,
    score: PerExample,
    rate: float,
    mu: float | None,
    anchors: Sequence[Any],
    optimizer: Any | None,
) -> Any:
    """Return a step of `optimizer`, by default of plain gradient descent, on the mean loss of a batch. FedProx adds
    mu (w - w_t) to the gradient: Li et al. 2020, arXiv:1812.06127, equation 2. The step returns the sums of losses and
    scores, float64 [2]."""
    tf = tensorflow()
    variables = model.trainable_variables

    def step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = model(images, training=True)
            losses = loss(labels, outputs)
            objective = tf.reduce_mean(losses)
        gradients = tape.gradient(objective, [variable.value for variable in variables])
        if mu is not None:
            gradients = [
                gradient + mu * (variable.value - anchor)
                for variable, gradient, anchor in zip(variables, gradients, anchors, strict=True)
            ]
        if optimizer is not None:
            optimizer.apply(gradients, variables)
        else:
            for variable, gradient in zip(variables, gradients, strict=True):
                variable.value.assign_sub(rate * gradient)
        scores = tf.reduce_sum(tf.cast(score(labels, outputs), tf.float64))
        return tf.stack([tf.cast(tf.reduce_sum(losses), tf.float64), scores])

    return step


def for_any_batch(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function of images and labels, compiled once for batches of any size."""
    tf = tensorflow()
    compiled: dict[Any, Any] = {}

    def call(images: Any, labels: Any) -> Any:
        kind = labels.dtype, tuple(labels.shape[1:])  # a digit, or a mask
        if kind not in compiled:
            signature = [
                tf.TensorSpec([None, *images.shape[1:]], tf.float32),
                tf.TensorSpec([None, *labels.shape[1:]], labels.dtype),
            ]
            compiled[kind] = tf.function(function, input_signature=signature, autograph=False)
        return compiled[kind](images, labels)

    return call
