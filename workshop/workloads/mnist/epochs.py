"""Which images each rank reads, from the params of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workshop.engine.training.batches import Batches

if TYPE_CHECKING:
    from workshop.workloads.mnist import MnistParams


def batches(params: MnistParams, images: int, ranks: int) -> Batches:
    """The batches of a run on so many ranks where there are so many images. Raises BadInput."""
    count = min(params.images or images, images)
    return Batches(count, ranks, params.batch * params.accumulate, params.seed, params.shard, params.divide)
