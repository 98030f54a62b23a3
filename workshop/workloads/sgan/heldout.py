"""Evaluation of the classifier on held-out images: by all ranks or by rank 0 alone, in one of three ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data.shards import order, shard
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.mnist.data.images import Images
from workshop.workloads.sgan import SganParams
from workshop.workloads.sgan.pictures import as_inputs

AT_ONCE = 256  # images
SEED = 7  # of the choice where not all held-out images are evaluated: the same ones in every run

Infer = Callable[[NDArray[np.uint8]], NDArray[np.float32]]  # images [n, 28, 28] -> logits [n, 10]


@dataclass(frozen=True)
class SganScore:
    """Loss and accuracy over all evaluated images, and the accuracy of each rank's images; NaN for a rank without
    images."""

    loss: float
    accuracy: float
    accuracies: list[float]


class SganHeldOut:
    """The held-out images that this rank evaluates. Its methods are collective.

    `seconds` is the time that this rank has spent on evaluation, `waited` the time that it has waited for others.
    """

    def __init__(self, ctx: RankContext, params: SganParams, images: Images, model: Any) -> None:
        count = len(images.held_out_labels)
        chosen = order(count, SEED)[: params.evaluate_images or count]
        if params.evaluate_by == "all":
            own_images = chosen[slice(*shard(len(chosen), ctx.size, ctx.rank))]
        else:
            own_images = chosen if ctx.rank == 0 else chosen[:0]
        self.ctx = ctx
        self.count = len(chosen)
        self.pixels, self.labels = images.held_out_images[own_images], images.held_out_labels[own_images]
        self.infer = inference(params.inference, model, params.size)
        self.seconds = self.waited = 0.0
        for length in {min(AT_ONCE, len(own_images)), len(own_images) % AT_ONCE} - {
            0
        }:  # compiled before anything is timed
            self.infer(self.pixels[:length])

    def score(self) -> SganScore:
        """Evaluate the present classifier; the phases are "evaluate" and "wait"."""
        spent = self.ctx.phase_seconds  # the same seconds as in the phases' events
        evaluated, waited = spent.get("evaluate", 0.0), spent.get("wait", 0.0)
        with self.ctx.phase("evaluate"):
            own_sums = self._own_sums()
        with self.ctx.phase("wait"):
            of_all = np.array(self.ctx.comm.allgather(own_sums))
        self.seconds += spent["evaluate"] - evaluated
        self.waited += spent["wait"] - waited
        loss, right, count = of_all.sum(axis=0)
        with np.errstate(invalid="ignore"):
            each = of_all[:, 1] / of_all[:, 2]
        return SganScore(float(loss / count), float(right / count), each.tolist())

    def _own_sums(self) -> NDArray[np.float64]:
        """The sum of the losses, the number of right answers and the number of images."""
        if not len(self.labels):
            return np.zeros(3)
        starts = range(0, len(self.labels), AT_ONCE)
        logits = np.concatenate([self.infer(self.pixels[at : at + AT_ONCE]) for at in starts]).astype(np.float64)
        raised = logits - logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(raised).sum(axis=1)) - raised[np.arange(len(self.labels)), self.labels]
        return np.array([losses.sum(), (logits.argmax(axis=1) == self.labels).sum(), len(self.labels)])


def inference(way: str, model: Any, size: int) -> Infer:
    """A function that computes logits with the Keras model: compiled, or by a method of the model for each batch of
    images. Keras's `predict` builds a data pipeline for every call; `predict_on_batch` doesn't."""
    tf = tensorflow()
    if way == "compiled":
        signature = [tf.TensorSpec([None, None, None], tf.uint8)]
        compiled = tf.function(
            lambda pixels: model(as_inputs(pixels, size), training=False), input_signature=signature, autograph=False
        )
        return lambda pixels: compiled(tf.constant(pixels)).numpy()
    prepared = tf.function(
        lambda pixels: as_inputs(pixels, size),
        input_signature=[tf.TensorSpec([None, None, None], tf.uint8)],
        autograph=False,
    )
    if way == "predict_on_batch":
        return lambda pixels: np.asarray(model.predict_on_batch(prepared(tf.constant(pixels)).numpy()))
    return lambda pixels: np.asarray(
        model.predict(prepared(tf.constant(pixels)).numpy(), batch_size=AT_ONCE, verbose=0)
    )


def due(done: int, every: int, unit: str, ranks: int) -> int:
    """The number of iterations after which the next evaluation is due, when `done` have been completed.

    The unit "images" counts the images of all ranks, in units of one rank's iterations. So n ranks evaluate n times as
    often per iteration.
    """
    if unit == "iterations":
        return (done // every + 1) * every
    reads = (done * ranks // every + 1) * every
    return -(-reads // ranks)
