"""Who learns in a round, and which of its images an institution reads then: pure functions of a seed, the same on every
rank."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.shards import order
from workshop.workloads.federated.params import Learning

CHOICE, READ, SAMPLED = 33, 36, 74  # streams of a seed


def participants(params: Learning, number: int) -> list[int]:
    """The institutions that learn in a round (counted from 1), as many as `params.taking_part`. With privacy of
    institutions each is drawn by itself, as its epsilon supposes (McMahan et al. 2018, arXiv:1710.06963, algorithm 1):
    any number, or none."""
    seed = [params.seed, CHOICE, number]
    if params.privacy == "institutions":
        return np.flatnonzero(_shares(params.institutions, seed) < params.participation).tolist()
    return sorted(order(params.institutions, seed)[: params.taking_part].tolist())


def batches(
    count: int, batch: int, *, epochs: int, steps: int | None, seed: tuple[int, ...]
) -> list[NDArray[np.int64]]:
    """Positions among `count` images, a batch for each step of a round. Each epoch reads every image once in an order
    of its own; its last batch may be smaller. `steps` takes so many steps over as many epochs as they need."""
    found: list[NDArray[np.int64]] = []
    epoch = 0
    while len(found) < steps if steps is not None else epoch < epochs:
        order = np.random.RandomState([READ, *seed, epoch]).permutation(count).astype(np.int64)
        found += [order[at : at + batch] for at in range(0, count, batch)]
        epoch += 1
    return found if steps is None else found[:steps]


def sampled(
    count: int, batch: int, *, epochs: int, steps: int | None, seed: tuple[int, ...]
) -> list[NDArray[np.int64]]:
    """As many batches as those of `batches`, as the epsilon of DP-SGD supposes: each step takes every image with the
    probability `share`. Shuffling and cutting has a larger epsilon (Chua et al. 2024, arXiv:2403.17673)."""
    many, taken = length(count, batch, epochs=epochs, steps=steps), share(count, batch)
    return [np.flatnonzero(_shares(count, [*seed, SAMPLED, step]) < taken).astype(np.int64) for step in range(many)]


def length(count: int, batch: int, *, epochs: int, steps: int | None) -> int:
    """How many batches there are in a round."""
    return steps if steps is not None else epochs * math.ceil(count / batch)


def share(count: int, batch: int) -> float:
    """The part of an institution's images that a step reads, on average where they are sampled."""
    return min(batch / count, 1.0)


def _shares(count: int, seed: list[int]) -> NDArray[np.float64]:
    """Evenly spread over [0, 1), the same for the same seed on every machine (see `order`)."""
    draws = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(count)
    return (draws >> np.uint64(11)) * 2.0**-53
