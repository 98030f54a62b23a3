"""The institutions of a round and the batches that each reads: pure functions of a seed, the same on every rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data.shards import order
from workshop.workloads.federated.params import Learning

CHOICE, READ = 33, 36  # streams of a seed


def participants(params: Learning, number: int) -> list[int]:
    """Return the institutions of a round (rounds count from 1), as many as `params.taking_part`. With privacy each is
    drawn independently, as epsilon assumes (McMahan et al. 2018, arXiv:1710.06963, algorithm 1): their number then
    varies, and may be 0."""
    seed = [params.seed, CHOICE, number]
    if params.privacy == "none":
        return sorted(order(params.institutions, seed)[: params.taking_part].tolist())
    draws = np.random.PCG64(np.random.SeedSequence(seed)).random_raw(params.institutions)
    uniform = (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53  # in [0, 1), the same on every machine
    return np.flatnonzero(uniform < params.participation).tolist()


def batches(count: int, batch: int, epochs: int, seed: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Return positions among `count` images, a batch for each step of a round. Each epoch reads every image once in a
    new order; its last batch may be smaller."""
    positions: list[NDArray[np.int64]] = []
    for epoch in range(epochs):
        order = np.random.RandomState([READ, *seed, epoch]).permutation(count).astype(np.int64)
        positions += [order[at : at + batch] for at in range(0, count, batch)]
    return positions
