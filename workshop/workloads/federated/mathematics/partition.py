"""The partition of images among institutions, the institutions of a round, and the batches that each reads: pure
functions of labels and a seed.

Every image belongs to one institution. Random numbers come from NumPy's RandomState and from `order`, which give the
same ones in every version of NumPy (NEP 19): ranks on several hosts may have different versions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.engine.data import order, shard

if TYPE_CHECKING:
    from workshop.workloads.federated import FederatedParams
    from workshop.workloads.federated.params import Learning


LEAST_IMAGES = 2  # images of an institution: one to learn from and one to validate with
DRAWS = 100  # draws of Dirichlet shares, before the request is refused
DIGITS = 10
DEAL, VALIDATION, CHOICE, READ = 31, 32, 33, 36  # streams of a seed

Positions = NDArray[np.int64]  # in the data set


@dataclass(frozen=True)
class Partition:
    """For each institution, the images that it learns from and those that it validates with."""

    train: tuple[Positions, ...]
    validation: tuple[Positions, ...]

    def all_of(self, institution: int) -> Positions:
        return np.concatenate([self.train[institution], self.validation[institution]])


def partition(params: FederatedParams, labels: NDArray[np.int64]) -> Partition:
    """Deal out images with these labels. Raises BadInput where an institution would have too few."""
    count = min(params.images or len(labels), len(labels))
    if count < LEAST_IMAGES * params.institutions:
        raise BadInput(
            f"{params.institutions} institutions can't share {count} images: each needs {LEAST_IMAGES}, one to learn "
            f"from and one to validate with; take at most {count // LEAST_IMAGES} institutions."
        )
    chosen = order(len(labels), [params.seed, DEAL])[:count]  # the same images in every partition
    dealt = [chosen[part] for part in _deal(params, labels[chosen])]
    poorest = min(range(len(dealt)), key=lambda number: len(dealt[number]))
    _check(poorest, len(dealt[poorest]))
    return Partition(*zip(*(_divide(params, number, part) for number, part in enumerate(dealt)), strict=True))


def _deal(params: FederatedParams, labels: NDArray[np.int64]) -> list[Positions]:
    """Return each institution's positions in `labels`, which are in a random order."""
    institutions, count = params.institutions, len(labels)
    if params.partition == "dirichlet":
        return dirichlet(labels, institutions, params.alpha, params.seed)
    if params.partition == "label":
        return by_label(labels, institutions, params.classes, params.seed)
    return [np.arange(*shard(count, institutions, number), dtype=np.int64) for number in range(institutions)]


def dirichlet(labels: NDArray[np.int64], institutions: int, alpha: float, seed: int) -> list[Positions]:
    """Divide each label in shares from a symmetric Dirichlet distribution (Yurochkin et al. 2019, arXiv:1905.12022; Hsu
    et al. 2019, arXiv:1909.06335). A draw that gives an institution too few images is repeated, up to 100 times."""
    stream, best = np.random.RandomState([seed, DEAL]), None
    for _ in range(DRAWS):
        parts: list[list[Positions]] = [[] for _ in range(institutions)]
        for label in range(DIGITS):
            positions = np.flatnonzero(labels == label)
            # Shares may underflow to NaN where alpha is tiny: then one institution gets all images of the label.
            shares = np.nan_to_num(stream.dirichlet(np.full(institutions, alpha)))
            if not shares.sum() > 0:
                shares[stream.randint(institutions)] = 1.0
            ends = np.rint(np.cumsum(shares / shares.sum())[:-1] * len(positions)).astype(np.int64)
            for part, piece in zip(parts, np.split(positions, ends), strict=True):
                part.append(piece)
        dealt = [np.concatenate(part) for part in parts]
        if best is None or min(map(len, dealt)) > min(map(len, best)):
            best = dealt
        if min(map(len, best)) >= LEAST_IMAGES:
            break
    assert best is not None
    return best


def by_label(labels: NDArray[np.int64], institutions: int, classes: int, seed: int) -> list[Positions]:
    """Give each institution `classes` of the labels. Raises BadInput where a label would belong to no institution."""
    if institutions * classes < DIGITS:
        raise BadInput(
            f"{words.count(institutions, 'institution')} of {words.count(classes, 'digit')} each would leave "
            f"{DIGITS - institutions * classes} of the {DIGITS} digits to nobody; take classes of at least "
            f"{math.ceil(DIGITS / institutions)}."
        )
    deck = order(DIGITS, [seed, DEAL, 1])
    owners: list[list[int]] = [[] for _ in range(DIGITS)]
    for number in range(institutions):
        for card in range(classes):
            owners[deck[(number * classes + card) % DIGITS]].append(number)
    parts: list[list[Positions]] = [[] for _ in range(institutions)]
    for label, holders in enumerate(owners):
        positions = np.flatnonzero(labels == label)
        for place, owner in enumerate(holders):
            # The first one gets an image more where the number doesn't divide: not always the same institution.
            turn = (place + label) % len(holders)
            parts[owner].append(positions[slice(*shard(len(positions), len(holders), turn))])
    return [np.concatenate(part).astype(np.int64) for part in parts]


def _check(institution: int, count: int) -> None:
    """Raise BadInput where an institution has too few images."""
    if count >= LEAST_IMAGES:
        return
    have = "no images" if count == 0 else "only one image"
    raise BadInput(
        f"Institution {institution + 1} would have {have}, where it needs one to learn from and one to validate with; "
        "take a larger alpha or more classes, fewer institutions or another seed."
    )


def _divide(params: FederatedParams, institution: int, positions: Positions) -> tuple[Positions, Positions]:
    """Return what an institution learns from and what it validates with: at least one image each."""
    shuffled = positions[order(len(positions), [params.seed, VALIDATION, institution])]
    split = min(max(round(params.validation * len(shuffled)), 1), len(shuffled) - 1)
    return shuffled[split:], shuffled[:split]


def label_counts(labels: NDArray[np.int64], positions: Sequence[int] | Positions) -> list[int]:
    """Return how many images of each digit there are at some positions, [10]."""
    return np.bincount(labels[positions], minlength=DIGITS).tolist()


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
