"""The workload: institutions make updates, a curious aggregator makes pictures of them.

Every rank has both sides of an attack of its own: `_private` and `_update` know images, `attack` is given the update
that would be sent. Only here they are compared, to measure the attack.
"""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workshop.core.errors import BadInput
from workshop.engine.context import RankContext
from workshop.engine.data import order
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated.mathematics.aggregation import usable
from workshop.workloads.federated.training.learner import LocalLearner
from workshop.workloads.inversion import InversionParams, first_digits
from workshop.workloads.inversion.attack import AttackInput, matched, nearest, psnr, recover
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data import images as data
from workshop.workloads.mnist.data.images import SIDE, Images
from workshop.workloads.mnist.heldout import as_inputs

DRAW = 91  # stream of a seed
RECOVERED = "recovered.png"
SCALE, COLUMNS, MOST, GAP = 3, 8, 32, 2  # of the picture: enlargement, digits in a row and in all, pixels around each


@dataclass(frozen=True)
class Private:
    """Images float32 [n, 28, 28, 1] from 0 to 1, their digits [n], and their positions among all images."""

    images: NDArray[np.float32]
    labels: NDArray[np.int32]
    positions: NDArray[np.int64]


def run(ctx: RankContext, params: InversionParams) -> Mapping[str, Any]:
    """Attack an update on every rank and return the metrics. Collective. Artifact by rank 0: recovered.png."""
    began = time.perf_counter()
    ctx.activity("loading TensorFlow")
    tensorflow().keras.utils.clear_session()  # what an earlier run of this process has left
    ctx.activity("reading data")
    images = data.read(ctx.inputs)
    true = private(params, images, ctx.rank, ctx.size)
    attack_input = update_of(params, true)
    prepared = time.perf_counter()
    ctx.activity("computing the pictures")
    pictures, read = recover(attack_input)
    seconds = {"prepare": prepared - began, "attack": time.perf_counter() - prepared}
    places = matched(true.images, pictures)
    pairs = np.stack([true.images[..., 0], pictures[places][..., 0]], axis=1)
    results = [
        {
            "rank": ctx.rank,
            "label": int(true.labels[number]),
            "read": int(read[at]),
            "likeness": psnr(true.images[number], pictures[at]),
            "correlation": true_correlation,
            "other": other,
            "nearest": true_correlation >= other,
        }
        for number, (at, (true_correlation, other)) in enumerate(
            zip(places, nearest(pictures[places], true.positions.tolist(), images.train_images), strict=True)
        )
    ]
    labels_right = (Counter(true.labels.tolist()) & Counter(read.tolist())).total()
    gathered = ctx.comm.allgather((results, labels_right, pairs))
    if ctx.rank == 0:
        ctx.artifact(RECOVERED, draw_pairs(np.concatenate([each for _, _, each in gathered])), "image/png")
    all_results = [result for rank_results, _, _ in gathered for result in rank_results]
    return {
        "data": images.words,
        "data_digest": images.digest,
        "train_images": len(images.train_labels),
        "parameters": len(attack_input.update),
        "pictures": all_results,
        "images": len(all_results),
        "likeness": float(np.mean([result["likeness"] for result in all_results])),
        "correlation": float(np.mean([result["correlation"] for result in all_results])),
        "labels_right": sum(right for _, right, _ in gathered),
        "seconds": seconds,
    }


def draw_pairs(pairs: NDArray[np.float32]) -> bytes:
    """A PNG of the first pairs [n, 2, 28, 28]: rows of true digits, each with a row of the recovered ones below."""
    pairs, columns = pairs[:MOST], min(len(pairs), COLUMNS)
    sides = (GAP, GAP)
    framed = np.pad(pairs, ((0, -len(pairs) % columns), (0, 0), sides, sides), constant_values=1)
    side = SIDE + 2 * GAP
    rows = framed.reshape(-1, columns, 2, side, side).transpose(0, 2, 3, 1, 4).reshape(-1, columns * side)
    grey = np.rint(255 * np.kron(rows, np.ones((SCALE, SCALE)))).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    return file.getvalue()


def private(params: InversionParams, images: Images, rank: int, ranks: int) -> Private:
    """The images behind a rank's update. The first shows the rank's own digit, the others are random; no image occurs
    twice."""
    shuffled = order(len(images.train_labels), [params.seed, DRAW, rank])
    digit = first_digits(params, ranks)[rank]
    first = shuffled[np.flatnonzero(images.train_labels[shuffled] == digit)[0]]
    others = shuffled[shuffled != first][: params.images - 1]
    positions = np.concatenate([[first], others]).astype(np.int64)
    labels = images.train_labels[positions].astype(np.int32)
    return Private(as_inputs(images.train_images[positions]), labels, positions)


def update_of(params: InversionParams, true: Private) -> AttackInput:
    """The update that an institution sends: one step of gradient descent on all of its images at once, of a network
    whose first layer is dense. Only the update leaves this function, never the images. Raises BadInput where the update
    is no number."""
    tensorflow().keras.utils.set_random_seed(params.seed)
    model = models.build("dense", {})
    learner = LocalLearner(model, models.loss_of(model), models.correct, params.rate)
    start = learner.vector()
    learner.train(true.images, true.labels, [np.arange(len(true.labels))])
    update = learner.vector() - start
    if not usable(update):
        raise BadInput(f"The update is no number any more at the rate {params.rate:g}; take a smaller rate.")
    learner.load(start)  # the model as it was sent around
    return AttackInput(model, update, len(true.labels), params.rate)
