"""A learning task: the images, labels and network of a federation.

The learning task on handwritten digits: the partition of the images and the network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data import order
from workshop.engine.training.step import PerExample
from workshop.workloads.federated import FederatedParams
from workshop.workloads.federated.mathematics.partition import Partition, label_counts, partition
from workshop.workloads.mnist import models
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.data.images import Images
from workshop.workloads.mnist.heldout import as_inputs

Labels = NDArray[Any]  # int32 [n], or float32 [n, height, width, 1] where a label is a mask


@dataclass(frozen=True)
class Silo:
    """An institution's images, float32 [n, height, width, channels], and their labels: `images` to learn from,
    `own_images` to validate with."""

    images: NDArray[np.float32]
    labels: Labels
    own_images: NDArray[np.float32]
    own_labels: Labels


See = Callable[[NDArray[np.float32], Labels], Mapping[str, NDArray[np.float32]]]
"""`(images, labels)` -> the outputs [n, ...] of each way's model; where institutions have models of their own, of the
first one's."""


@dataclass(frozen=True)
class Inspection:
    """Looks at the models' outputs: `keep(round, see, last)` is called on the aggregator's rank after every `every`-th
    round and after the last one, and returns metrics."""

    every: int
    keep: Callable[[int, See, bool], Mapping[str, Any]]


@dataclass(frozen=True)
class LearningTask:
    """`silos` has the images of the requested institutions. `about` describes every institution: the number of `images`
    that it learns from, the number for `validation`, and more. `score` gives each example a value from 0 to 1;
    `measure` is its name. `facts` are metrics that are known before the first round.
    """

    model: Any
    loss: PerExample
    score: PerExample
    measure: str
    silos: Mapping[int, Silo]
    held_out: tuple[NDArray[np.float32], Labels]
    about: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    bytes_image: int = 0  # bytes of an image, if it were sent
    at_once: int = 512  # images that are tested together
    look: Inspection | None = None


Maker = Callable[[RankContext, Any, Sequence[int]], LearningTask]
"""`(ctx, params, institutions)` -> a run's task, on a rank that needs the images of these institutions. Collective."""


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
