"""The workload: institutions make updates, a curious aggregator makes pictures of them.

Every rank has both sides of an attack of its own: `victim` knows images, `attack` and `search` are given what would be
sent. Only here and in `watch` they are compared, to tell how far the attack came.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from workshop.core.errors import BadInput
from workshop.engine.context import RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated.mathematics.aggregation import usable
from workshop.workloads.federated.training.learner import LocalLearner
from workshop.workloads.inversion import InversionParams, search
from workshop.workloads.inversion.attack import AttackInput, Digits, Pictures, digits, recover
from workshop.workloads.inversion.likeness import matched, nearest, psnr
from workshop.workloads.inversion.victim import Private, ProtectedUpdate, build_model, private, protected, updates
from workshop.workloads.inversion.watch import SearchMonitor
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data import images as data

START = 94  # stream of a seed: where searches begin
SMOOTH, NOISY = 1e-4, 1e-2  # weights of the total variation; the larger one where the attacker knows of noise


def run(ctx: RankContext, params: InversionParams) -> Mapping[str, Any]:
    """Attack an update on every rank and return the metrics. Collective.

    Events by every rank (step: iterations of its search so far): `distance` of the gradients, `likeness` (PSNR in dB)
    and `correlation`, means over the rank's images; `time.compute`, `time.wait`. Artifact by rank 0: recovered.png.
    """
    began = time.perf_counter()
    ctx.activity("loading TensorFlow")
    tensorflow().keras.utils.clear_session()  # what an earlier run of this process has left
    ctx.activity("reading data")
    images = data.read(ctx.inputs)
    true = private(params, images, ctx.rank, ctx.size)
    attack_input, sent = _attacked_update(params, true, ctx.rank)
    metrics_before = {
        "data": images.words,
        "data_digest": images.digest,
        "train_images": len(images.train_labels),
        "model": params.model,
        "parameters": len(attack_input.update),
        "images_behind": params.behind,
    }
    ctx.publish(**metrics_before)
    watch = SearchMonitor(ctx, true, params.iterations if params.model == "cnn" else 1, params.pace)
    prepared = time.perf_counter()
    ctx.activity("searching for the pictures")
    pictures, read = _attack(params, attack_input, watch, ctx.rank)
    watch.end(pictures)
    seconds = {"prepare": prepared - began, "attack": time.perf_counter() - prepared}
    among = nearest(pictures[matched(true.images, pictures)], true.positions.tolist(), images.train_images)
    own_results = {
        "pictures": _of_each(params, ctx.rank, true, pictures, read, among),
        "labels_right": (Counter(true.labels.tolist()) & Counter(read.tolist())).total(),
        "signal_to_noise": sent.signal_to_noise,
        "iterations": watch.iterations,
        "distance": watch.distance,
    }
    metrics = metrics_before | _of_all(ctx.comm.allgather(own_results)) | {"stopped": watch.stopped, "seconds": seconds}
    return metrics | ({"notices": [images.notice]} if images.notice else {})


def _attacked_update(params: InversionParams, true: Private, rank: int) -> tuple[AttackInput, ProtectedUpdate]:
    """The aggregator's update, and the cost of its protection. Only the update leaves this function, never the
    images."""
    model = build_model(params.model, params.seed)
    learner = LocalLearner(model, models.loss_of(model), models.correct, params.rate)
    start = learner.vector()
    steps = params.steps if params.protect == "epochs" else 1
    updates_made = updates(params, learner, start, true)
    if not all(usable(update) for update in updates_made):
        raise BadInput(
            f"The institution's update is no number any more after {steps} steps of the rate {params.rate:g}; take a "
            "smaller rate or fewer steps."
        )
    sent = protected(params, updates_made, rank)
    learner.load(start)  # the model as it was sent around
    return AttackInput(model, sent.update, params.behind, params.rate, steps), sent


def _attack(
    params: InversionParams, attack_input: AttackInput, watch: SearchMonitor, rank: int
) -> tuple[Pictures, Digits]:
    """The aggregator's best result: pictures, and their digits."""
    if params.model == "dense":
        pictures, read = recover(attack_input)
        matching = search.GradientMatch(attack_input, read)
        matching(pictures.ravel().astype(np.float64))
        watch.read = read
        watch.look(1, matching.distance, pictures)
        return pictures, read
    read = digits(attack_input)
    watch.read = read
    usual = NOISY if params.protect == "clip-noise" else SMOOTH
    pictures = search.recover(
        attack_input,
        read,
        watch.look,
        iterations=params.iterations,
        starts=params.starts,
        smooth=usual if params.smooth is None else params.smooth,
        seed=(params.seed, START, rank),
    )
    return pictures, read


def _of_each(
    params: InversionParams, rank: int, true: Private, pictures: Pictures, read: Digits, among: Any
) -> list[dict[str, Any]]:
    """The result for each image behind the update."""
    return [
        {
            "rank": rank,
            "institution": number // params.images + 1,
            "label": int(true.labels[number]),
            "read": int(read[at]),
            "likeness": psnr(true.images[number], pictures[at]),
            "correlation": nearest_image.true,
            "other": nearest_image.other,
            "nearest": nearest_image.is_true,
        }
        for number, (at, nearest_image) in enumerate(zip(matched(true.images, pictures), among, strict=True))
    ]


def _of_all(ranks: list[dict[str, Any]]) -> dict[str, Any]:
    """Metrics, the same on all ranks."""
    pictures = [picture for rank_results in ranks for picture in rank_results["pictures"]]
    noise = [rank_results["signal_to_noise"] for rank_results in ranks if rank_results["signal_to_noise"] is not None]
    return {
        "pictures": pictures,
        "images": len(pictures),
        "likeness": float(np.mean([picture["likeness"] for picture in pictures])),
        "correlation": float(np.mean([picture["correlation"] for picture in pictures])),
        "labels_right": sum(rank_results["labels_right"] for rank_results in ranks),
        "signal_to_noise": float(np.mean(noise)) if noise else None,
        "distances": [rank_results["distance"] for rank_results in ranks],
        "iterations": max(rank_results["iterations"] for rank_results in ranks),
    }
