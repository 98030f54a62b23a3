"""The institutions of a round and the batches that each reads: pure functions of a seed, the same on every rank."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.shards import order
from workshop.workloads.federated.params import Learning

CHOICE, READ, SAMPLED = 33, 36, 74  # streams of a seed


def participants(params: Learning, number: int) -> list[int]:
    """Return the institutions of a round (rounds count from 1), as many as `params.taking_part`. With privacy of
    institutions each is drawn independently, as epsilon assumes (McMahan et al. 2018, arXiv:1710.06963, algorithm 1):
    their number then varies, and may be 0."""
    seed = [params.seed, CHOICE, number]
    if params.privacy == "institutions":
        return np.flatnonzero(_shares(params.institutions, seed) < params.participation).tolist()
    return sorted(order(params.institutions, seed)[: params.taking_part].tolist())


def batches(
    count: int, batch: int, *, epochs: int, steps: int | None, seed: tuple[int, ...]
) -> list[NDArray[np.int64]]:
    """Return positions among `count` images, a batch for each step of a round. Each epoch reads every image once in a
    new order; its last batch may be smaller. `steps` sets the number of steps, over as many epochs as they need."""
    positions: list[NDArray[np.int64]] = []
    epoch = 0
    while len(positions) < steps if steps is not None else epoch < epochs:
        order = np.random.RandomState([READ, *seed, epoch]).permutation(count).astype(np.int64)
        positions += [order[at : at + batch] for at in range(0, count, batch)]
        epoch += 1
    return positions if steps is None else positions[:steps]


def sampled(
    count: int, batch: int, *, epochs: int, steps: int | None, seed: tuple[int, ...]
) -> list[NDArray[np.int64]]:
    """Return as many batches as `batches`, but drawn as the epsilon of DP-SGD assumes: each step takes every image with
    the probability `share`. Shuffled batches have a larger epsilon (Chua et al. 2024, arXiv:2403.17673)."""
    number, probability = length(count, batch, epochs=epochs, steps=steps), share(count, batch)
    return [
        np.flatnonzero(_shares(count, [*seed, SAMPLED, step]) < probability).astype(np.int64) for step in range(number)
    ]


def length(count: int, batch: int, *, epochs: int, steps: int | None) -> int:
    """Return the number of batches in a round."""
    return steps if steps is not None else epochs * math.ceil(count / batch)


def share(count: int, batch: int) -> float:
    """Return the share of an institution's images in a step; where images are sampled, the mean share."""
    return min(batch / count, 1.0)


def _shares(count: int, seed: list[int]) -> NDArray[np.float64]:
    """Return uniform random numbers in [0, 1), the same for a seed on every machine (see `order`)."""
    draws = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(count)
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53
