"""The task on handwritten digits: who has which of the images, and the network that reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.engine.data import images
from workshop.engine.data.images import Images
from workshop.engine.data.shards import order
from workshop.workloads.federated import FederatedParams
from workshop.workloads.federated.mathematics.partition import Partition, label_counts, partition, scanner
from workshop.workloads.federated.training.task import LearningTask, Silo
from workshop.workloads.mnist import models
from workshop.workloads.mnist.heldout import as_inputs

HELD_OUT = 37  # stream of a seed: which held-out images are tested on


def digits(ctx: RankContext, params: FederatedParams, kept: Sequence[int]) -> LearningTask:
    """The task of a run, with the images of the institutions `kept`."""
    found = images.read(ctx.inputs)
    dealt = partition(params, found.train_labels)
    chosen = order(len(found.held_out_labels), [params.seed, HELD_OUT])[: params.evaluate_images]
    model = models.build(params.model, {})
    return LearningTask(
        model=model,
        loss=models.loss_of(model),
        score=models.correct,
        measure="accuracy",
        silos={one: _silo(params, found, dealt, one) for one in kept},
        held_out=(as_inputs(found.held_out_images[chosen]), found.held_out_labels[chosen].astype(np.int32)),
        about=[_about(params, found, dealt, one) for one in range(params.institutions)],
        known={"data": found.words, "data_digest": found.digest, "model": params.model},
        notices=[found.notice] if found.notice else [],
        bytes_image=math.prod(models.SHAPE),  # a byte for a pixel
    )


def _silo(params: FederatedParams, found: Images, dealt: Partition, institution: int) -> Silo:
    """An institution's images, as its own scanner takes them where everyone has one."""
    parts = []
    for stream, positions in enumerate((dealt.train[institution], dealt.own[institution])):
        pictures = as_inputs(found.train_images[positions])
        if params.partition == "shift":
            pictures = scanner(institution, params.seed).taken(pictures, (params.seed, institution, stream))
        parts += [pictures, found.train_labels[positions].astype(np.int32)]
    return Silo(*parts)


def _about(params: FederatedParams, found: Images, dealt: Partition, one: int) -> dict[str, Any]:
    """How many images an institution has, and of what."""
    return {
        "images": len(dealt.train[one]),
        "validation": len(dealt.own[one]),
        "labels": label_counts(found.train_labels, dealt.all_of(one)),
        **({"scanner": scanner(one, params.seed).as_json()} if params.partition == "shift" else {}),
    }
