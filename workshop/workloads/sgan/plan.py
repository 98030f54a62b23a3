"""The images with labels, the images that each rank reads in a step, and when evaluations are due: pure functions,
equal on all ranks.

A step of all ranks reads the next `batch * ranks` unlabelled images of a sequence of shuffled passes over all of them,
and each rank takes its part. So all ranks together read the same images as one rank with a batch of that size, and
training gives the same weights. The labelled images have their own sequence, with half as many in a step. (The same
holds for them if a rank's batch is even.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.data import order
from workshop.workloads.mnist.data.images import CLASSES, Images

if TYPE_CHECKING:
    from workshop.workloads.sgan import SganParams

LABELLED, UNLABELLED = 1, 2  # rows of their own


@dataclass(frozen=True)
class ImageOrder:
    """`count` images in shuffled order, repeated; each step of `size` ranks takes the next ones."""

    count: int
    batch: int  # of each rank
    size: int
    seed: tuple[int, ...]

    def take(self, step: int, rank: int) -> NDArray[np.int64]:
        """The numbers of the images that a rank takes in a step, int64 [batch], 0 to count - 1."""
        at = (step * self.size + rank) * self.batch + np.arange(self.batch)
        rounds, places = np.divmod(at, self.count)
        numbers = np.empty(self.batch, np.int64)
        for number in np.unique(rounds):
            in_round = rounds == number
            numbers[in_round] = _shuffled(self.count, (*self.seed, int(number)))[places[in_round]]
        return numbers


@lru_cache(maxsize=8)
def _shuffled(count: int, seed: tuple[int, ...]) -> NDArray[np.int64]:
    return order(count, seed)


@dataclass(frozen=True)
class LabelPlan:
    """The `labelled` and `unlabelled` images (their numbers among the training images, int64 [n]), and their order."""

    labelled: NDArray[np.int64]
    unlabelled: NDArray[np.int64]
    labelled_row: ImageOrder
    unlabelled_row: ImageOrder
    supervised: bool

    def take(self, step: int, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the labelled and of the unlabelled images that a rank reads in a step."""
        unlabelled = np.zeros(0, np.int64) if self.supervised else self.unlabelled_row.take(step, rank)
        return self.labelled[self.labelled_row.take(step, rank)], self.unlabelled[unlabelled]


def plan(params: SganParams, labels: NDArray[np.int64], size: int) -> LabelPlan:
    """The plan for images with these labels on `size` ranks. Raises BadInput for too few images."""
    counts = np.bincount(labels, minlength=CLASSES)
    if (fewest := counts.min()) < params.labels:
        raise BadInput(
            f"labels is {params.labels}, but there are only {fewest} images of the digit {counts.argmin()}; "
            f"take at most {fewest}."
        )
    chosen = [np.flatnonzero(labels == digit)[order(counts[digit], (params.seed, digit))] for digit in range(CLASSES)]
    labelled = np.concatenate([some[: params.labels] for some in chosen])
    unlabelled = np.setdiff1d(np.arange(len(labels)), labelled)
    return LabelPlan(
        labelled,
        unlabelled,
        ImageOrder(len(labelled), labelled_batch(params.batch), size, (params.seed, LABELLED)),
        ImageOrder(max(len(unlabelled), 1), params.batch, size, (params.seed, UNLABELLED)),
        params.method == "supervised",
    )


def labelled_batch(batch: int) -> int:
    """Labelled images of each rank in a step: half as many as unlabelled ones."""
    return max(batch // 2, 1)


def check(params: SganParams, images: Images, size: int) -> None:
    """Check that there are enough images for the params on `size` ranks. Raises BadInput."""
    training_plan = plan(params, images.train_labels, size)
    unlabelled = len(training_plan.unlabelled)
    most = unlabelled // size
    if params.method == "sgan" and params.batch > most:
        raise BadInput(
            f"batch is {params.batch}, but of the {unlabelled} unlabelled images a rank's share is only {most}; "
            "take a smaller batch, fewer labels, or fewer ranks."
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
