"""The learning task on handwritten digits: the partition of the images and the network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.engine.data.shards import order
from workshop.workloads.federated import FederatedParams
from workshop.workloads.federated.mathematics.partition import Partition, label_counts, partition
from workshop.workloads.federated.training.task import LearningTask, Silo
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.data.images import Images
from workshop.workloads.mnist.heldout import as_inputs

HELD_OUT = 37  # stream of a seed: which held-out images are tested on


def digits(ctx: RankContext, params: FederatedParams, institutions: Sequence[int]) -> LearningTask:
    """Return the task of a run, with the images of these institutions."""
    dataset = images.read(ctx.inputs)
    dealt = partition(params, dataset.train_labels)
    chosen = order(len(dataset.held_out_labels), [params.seed, HELD_OUT])[: params.evaluate_images]
    model = models.build(params.model, {})
    return LearningTask(
        model=model,
        loss=models.loss_of(model),
        score=models.correct,
        measure="accuracy",
        silos={institution: _silo(dataset, dealt, institution) for institution in institutions},
        held_out=(as_inputs(dataset.held_out_images[chosen]), dataset.held_out_labels[chosen].astype(np.int32)),
        about=[_about(dataset, dealt, institution) for institution in range(params.institutions)],
        facts={"data": dataset.words, "data_digest": dataset.digest, "model": params.model},
        notices=[dataset.notice] if dataset.notice else [],
        bytes_image=math.prod(models.SHAPE),  # a byte for a pixel
    )


def _silo(dataset: Images, dealt: Partition, institution: int) -> Silo:
    """Return an institution's images."""
    (images, labels), (own_images, own_labels) = (
        (as_inputs(dataset.train_images[positions]), dataset.train_labels[positions].astype(np.int32))
        for positions in (dealt.train[institution], dealt.validation[institution])
    )
    return Silo(images, labels, own_images, own_labels)


def _about(dataset: Images, dealt: Partition, institution: int) -> dict[str, Any]:
    """Return an institution's numbers of images, in all and of each digit."""
    return {
        "images": len(dealt.train[institution]),
        "validation": len(dealt.validation[institution]),
        "labels": label_counts(dataset.train_labels, dealt.all_of(institution)),
    }
