"""Which images have labels, and what every rank reads in which step: pure functions of a seed, the same on all ranks.

A step of all ranks together reads the next `batch * ranks` unlabelled images of a long row of shuffled passes over all
of them; each rank takes its part of these. So what all ranks read together is what one rank with a batch so much larger
reads, and training on them gives the same weights. The labelled images go on in a row of their own, half as many in a
step (so the same holds for them where a rank's batch is even, which its half is then, too).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.data.datasets import CLASSES
from workshop.engine.data.images import Images
from workshop.engine.data.shards import order

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
        found = np.empty(self.batch, np.int64)
        for number in np.unique(rounds):
            mine = rounds == number
            found[mine] = _shuffled(self.count, (*self.seed, int(number)))[places[mine]]
        return found


@lru_cache(maxsize=8)
def _shuffled(count: int, seed: tuple[int, ...]) -> NDArray[np.int64]:
    return order(count, seed)


@dataclass(frozen=True)
class LabelPlan:
    """Which images are `labelled` and `unlabelled` (numbers among those to train on, int64 [n]), and how they are
    read."""

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
    if (fewest := int(counts.argmin())) >= 0 and counts[fewest] < params.labels:
        raise BadInput(
            f"labels is {params.labels}, but there are only {counts[fewest]} images of the digit {fewest}; "
            f"take at most {counts[fewest]}."
            if counts[fewest]
            else f"There is no image of the digit {fewest} to train on; give images of all ten digits."
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
    """See that the images are enough for the params on `size` ranks. Raises BadInput."""
    made = plan(params, images.train_labels, size)
    left, several = len(made.unlabelled), size > 1
    most = left // size
    if params.method == "sgan" and most < 1:
        raise BadInput(
            f"labels is {params.labels}, which leaves {left} of the {len(images.train_labels)} images without a label, "
            f"too few for {size} rank{'s' * several}; take fewer {'ranks or ' * several}labels."
        )
    if params.method == "sgan" and params.batch > most:
        raise BadInput(
            f"batch is {params.batch}, but of the {left} unlabelled images a rank's share is only {most}; "
            f"take a batch of at most {most}{', or fewer ranks' * several}."
        )
    held_out = len(images.held_out_labels)
    if params.evaluate_images is not None and params.evaluate_images > held_out:
        raise BadInput(
            f"evaluate_images is {params.evaluate_images}, but only {held_out} images are held out; "
            f"take at most {held_out}."
        )
