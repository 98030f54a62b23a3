"""The institution's side: which images it has, and the update that it makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.images import Images
from workshop.engine.data.shards import order
from workshop.workloads.federated.training.learner import LocalLearner, Vector
from workshop.workloads.inversion import InversionParams, first_digits
from workshop.workloads.mnist.heldout import as_inputs

DRAW = 91  # stream of a seed


@dataclass(frozen=True)
class Private:
    """Images float32 [n, 28, 28, 1] from 0 to 1, what they show [n], and their positions among all that there are."""

    images: NDArray[np.float32]
    labels: NDArray[np.int32]
    positions: NDArray[np.int64]

    def part(self, begin: int, end: int) -> Private:
        return Private(self.images[begin:end], self.labels[begin:end], self.positions[begin:end])


def private(params: InversionParams, found: Images, rank: int, ranks: int) -> Private:
    """All images behind what a rank's aggregator sees, those of its first institution first. The very first one shows
    the rank's own digit, the others whatever is drawn; no image comes twice."""
    shuffled = order(len(found.train_labels), [params.seed, DRAW, rank])
    digit = first_digits(params, ranks)[rank]
    first = shuffled[np.flatnonzero(found.train_labels[shuffled] == digit)[0]]
    others = shuffled[shuffled != first][: params.behind - 1]
    positions = np.concatenate([[first], others]).astype(np.int64)
    return Private(as_inputs(found.train_images[positions]), found.train_labels[positions].astype(np.int32), positions)


def updates(params: InversionParams, learner: LocalLearner, start: Vector, all_of_them: Private) -> list[Vector]:
    """What each institution's training adds to the shared model: one step of gradient descent on all of its images at
    once, several only where that is what protects it. An institution that learned for real would send the same."""
    steps = params.steps if params.protect == "epochs" else 1
    made = []
    for begin in range(0, params.behind, params.images):
        own = all_of_them.part(begin, begin + params.images)
        learner.load(start)
        learner.train(own.images, own.labels, [np.arange(params.images)] * steps)
        made.append(learner.vector() - start)
    return made
