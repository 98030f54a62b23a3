"""The arithmetic of a step on one rank: the gradients of its examples as one vector, and the update from all ranks'.

An epoch is a permutation of all examples, divided among ranks whose number may change between two steps. A cursor says
how many were read by whole steps. A step reads the next ones, each rank a part of them. So whoever is lost, the next
step begins where the last whole one has ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data import shard
from workshop.engine.tensorflow import seed_training, tensorflow
from workshop.engine.training import checkpoint
from workshop.engine.training.checkpoint import Checkpoint
from workshop.workloads.elastic import ElasticParams
from workshop.workloads.mnist import models

MOMENTUM = 0.9
SUMS = 4  # numbers behind the gradients: the sum of losses, right answers, examples, wishes to stop


class ElasticNetwork:
    """The network and its optimizer, the same on every rank: ranks draw the same weights from the same seed."""

    def __init__(self, params: ElasticParams) -> None:
        tf = seed_training(params.seed)
        self.model = models.build(params.model, {})
        self.optimizer = tf.keras.optimizers.SGD(params.rate, momentum=MOMENTUM)
        self.optimizer.build(self.model.trainable_variables)
        self.loss = models.loss_of(self.model)
        self.rate = math.nan  # the one that the optimizer has, where that is known
        self._compile()

    def _compile(self) -> None:
        """Compile both functions for any number of examples, so that no step after a loss compiles."""
        tf, model, optimizer = tensorflow(), self.model, self.optimizer
        variables = model.trainable_variables
        shapes = [tuple(variable.shape) for variable in variables]
        sizes = [math.prod(shape) for shape in shapes]
        self.length = sum(sizes) + SUMS

        def gradients(inputs: Any, labels: Any, factor: Any) -> Any:
            with tf.GradientTape() as tape:
                outputs = model(inputs, training=True)
                total = tf.reduce_sum(self.loss(labels, outputs))
                objective = total * factor
            right = tf.reduce_sum(tf.cast(models.correct(labels, outputs), tf.float32))
            of_weights = tape.gradient(objective, [variable.value for variable in variables])
            parts = [tf.reshape(gradient, [-1]) for gradient in of_weights]
            return tf.concat([*parts, [total, right, tf.cast(tf.shape(labels)[0], tf.float32), 0.0]], axis=0)

        def update(vector: Any) -> None:
            parts = tf.split(vector[: sum(sizes)], sizes)
            optimizer.apply([tf.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)], variables)

        images = tf.TensorSpec([None, *models.SHAPE], tf.float32)
        labels = tf.TensorSpec([None], tf.int32)
        self._gradients = tf.function(
            gradients, input_signature=[images, labels, tf.TensorSpec([], tf.float32)], autograph=False
        )
        self._update = tf.function(update, input_signature=[tf.TensorSpec([self.length], tf.float32)], autograph=False)

    def gradients(self, inputs: NDArray[np.float32], labels: NDArray[np.int32], factor: float) -> NDArray[np.float32]:
        """The gradient of the sum of the examples' losses times `factor`, then `SUMS` numbers, the last one 0: float32
        [length]. Added up over ranks with factor = 1 / examples of all ranks, it is that of the mean."""
        if not len(labels):
            return np.zeros(self.length, np.float32)
        return np.array(self._gradients(inputs, labels, np.float32(factor)))

    def update(self, vector: NDArray[np.float32], rate: float) -> None:
        """Apply the gradients of all ranks, added up in a vector as of `gradients`."""
        if rate != self.rate:
            self.optimizer.learning_rate = self.rate = rate
        self._update(vector)

    def warm_up(self, inputs: NDArray[np.float32], labels: NDArray[np.int32]) -> None:
        """Compute once with a few examples, and leave everything as it was."""
        before = self.capture({})
        self.update(self.gradients(inputs, labels, 1 / len(labels)), 0.0)
        self.restore(before)

    def capture(self, progress: dict[str, Any]) -> Checkpoint:
        return checkpoint.capture(self.model, self.optimizer, progress)

    def restore(self, saved: Checkpoint) -> None:
        """Put a checkpoint into the network. Raises BadInput where it is of another one."""
        checkpoint.restore(self.model, self.optimizer, saved)
        self.rate = math.nan  # the optimizer's state has the rate of whoever made the checkpoint


Span = tuple[int, int]  # begin and end, places in an epoch's permutation


def part(places: Span, ranks: int, rank: int) -> Span:
    """A rank's places of a step; ranks' parts differ by one place at most, and may be empty."""
    begin, end = shard(places[1] - places[0], ranks, rank)
    return places[0] + begin, places[0] + end


def count_reads(epoch: int, examples: NDArray[np.int64], spans: Iterable[Span]) -> dict[str, int]:
    """How many examples an epoch has read, and how many different ones: `spans` of the permutation `examples` are what
    whole steps took."""
    reads = np.zeros(len(examples), np.int64)
    for begin, end in spans:
        np.add.at(reads, examples[begin:end], 1)
    return {"epoch": epoch, "read": int(reads.sum()), "distinct": int((reads > 0).sum())}


def steps_from(cursor: int, count: int, batch: int, epochs: int) -> int:
    """The steps that remain in an epoch that is read up to the cursor, and in the `epochs` after it."""
    return -(-(count - cursor) // batch) + epochs * -(-count // batch)
