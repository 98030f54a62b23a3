"""How good the classifier is on held-out images: looked at by all ranks or by rank 0 alone, in one of three ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data.images import Images
from workshop.engine.data.shards import order, shard
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.sgan import SganParams
from workshop.workloads.sgan.pictures import as_inputs

AT_ONCE = 256  # images
SEED = 7  # of the choice where not all held-out images are evaluated: the same ones in every run

Infer = Callable[[NDArray[np.uint8]], NDArray[np.float32]]  # images [n, 28, 28] -> logits [n, 10]


@dataclass(frozen=True)
class SganScore:
    """Loss and accuracy over all images that were evaluated, and the accuracy of each rank's; NaN where it has none."""

    loss: float
    accuracy: float
    accuracies: list[float]


class SganHeldOut:
    """The held-out images that this rank evaluates. Its methods are collective.

    `seconds` and `waited` add up what this rank has spent on evaluating, and on waiting for others that were at it.
    """

    def __init__(self, ctx: RankContext, params: SganParams, images: Images, model: Any) -> None:
        count = len(images.held_out_labels)
        chosen = order(count, SEED)[: params.evaluate_images or count]
        if params.evaluate_by == "all":
            mine = chosen[slice(*shard(len(chosen), ctx.size, ctx.rank))]
        else:
            mine = chosen if ctx.rank == 0 else chosen[:0]
        self.ctx = ctx
        self.count = len(chosen)
        self.pixels, self.labels = images.held_out_images[mine], images.held_out_labels[mine]
        self.infer = inference(params.inference, model, params.size)
        self.seconds = self.waited = 0.0
        for length in {min(AT_ONCE, len(mine)), len(mine) % AT_ONCE} - {0}:  # compiled before anything is timed
            self.infer(self.pixels[:length])

    def score(self) -> SganScore:
        """Evaluate the present classifier; the phases are "evaluate" and "wait"."""
        spent = self.ctx.phase_seconds  # what is added up here is what the phases' events tell
        evaluated, waited = spent.get("evaluate", 0.0), spent.get("wait", 0.0)
        with self.ctx.phase("evaluate"):
            mine = self._mine()
        with self.ctx.phase("wait"):
            of_all = np.array(self.ctx.comm.allgather(mine))
        self.seconds += spent["evaluate"] - evaluated
        self.waited += spent["wait"] - waited
        loss, right, count = of_all.sum(axis=0)
        with np.errstate(invalid="ignore"):
            each = of_all[:, 1] / of_all[:, 2]
        return SganScore(float(loss / count), float(right / count), each.tolist())

    def _mine(self) -> NDArray[np.float64]:
        """The sum of the losses, how many were right and how many there were."""
        if not len(self.labels):
            return np.zeros(3)
        starts = range(0, len(self.labels), AT_ONCE)
        logits = np.concatenate([self.infer(self.pixels[at : at + AT_ONCE]) for at in starts]).astype(np.float64)
        raised = logits - logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(raised).sum(axis=1)) - raised[np.arange(len(self.labels)), self.labels]
        return np.array([losses.sum(), (logits.argmax(axis=1) == self.labels).sum(), len(self.labels)])


def inference(way: str, model: Any, size: int) -> Infer:
    """How logits are had from the Keras model: by a compiled function, or by a method of the model's own for each
    batch of images. Keras's `predict` builds a data pipeline for every call; `predict_on_batch` doesn't."""
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
    """The number of iterations after which the next evaluation is due, where `done` have been made.

    With the unit "images", what is counted are the images that all ranks read, in units of one rank's iterations: so
    many ranks come to the next evaluation so many times sooner.
    """
    if unit == "iterations":
        return (done // every + 1) * every
    reads = (done * ranks // every + 1) * every
    return -(-reads // ranks)
