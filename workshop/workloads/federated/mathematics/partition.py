"""Who has which images, and which scanner takes them: pure functions of labels and a seed, the same on every rank.

Every image belongs to one institution. Draws are those of NumPy's RandomState and of `order`, which stay the same in
every version of NumPy (NEP 19): ranks on several hosts may have several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.data.shards import order, shard

if TYPE_CHECKING:
    from workshop.workloads.federated import FederatedParams


SCANNER, NOISE = 34, 35  # streams of a seed


@dataclass(frozen=True)
class DigitScanner:
    """Makes `offset + contrast * x` of an image x from 0 (paper) to 1 (ink), plus normal noise, kept within 0 and 1."""

    contrast: float
    offset: float
    noise: float

    def as_json(self) -> dict[str, float]:
        return {name: round(value, 3) for name, value in asdict(self).items()}

    def taken(self, images: NDArray[np.float32], seed: tuple[int, ...]) -> NDArray[np.float32]:
        """The images as this scanner takes them; `seed` is that of the noise, the same pictures for the same one."""
        stream = np.random.RandomState([NOISE, *seed])
        seen = self.offset + self.contrast * images + self.noise * stream.standard_normal(images.shape)
        return np.clip(seen, 0, 1).astype(np.float32)


def scanner(institution: int, seed: int) -> DigitScanner:
    """An institution's scanner."""
    stream = np.random.RandomState([SCANNER, seed, institution])
    contrast = stream.uniform(0.35, 1.0)
    return DigitScanner(
        contrast=contrast,
        offset=stream.uniform(0.0, 1.0 - contrast),
        noise=stream.uniform(0.0, 0.25),
    )


LEAST = 2  # images of an institution: one to learn from and one to validate with
DRAWS = 100  # of Dirichlet shares, before the request is refused
DIGITS = 10
DEAL, OWN = 31, 32  # so that the streams of one seed don't follow each other

Positions = NDArray[np.int64]  # in the data set


@dataclass(frozen=True)
class Partition:
    """For each institution the images that it learns from, and those that it keeps to validate with."""

    train: tuple[Positions, ...]
    own: tuple[Positions, ...]

    def all_of(self, institution: int) -> Positions:
        return np.concatenate([self.train[institution], self.own[institution]])


def partition(params: FederatedParams, labels: NDArray[np.int64]) -> Partition:
    """Deal images with these labels out. Raises BadInput where an institution would have too few."""
    count = min(params.images or len(labels), len(labels))
    if count < LEAST * params.institutions:
        raise BadInput(
            f"{params.institutions} institutions can't share {count} images: each needs {LEAST}, one to learn from and "
            f"one to validate with; take at most {count // LEAST} institutions."
        )
    chosen = order(len(labels), [params.seed, DEAL])[:count]  # the same ones, whatever the partition
    dealt = [chosen[part] for part in _deal(params, labels[chosen])]
    poorest = min(range(len(dealt)), key=lambda number: len(dealt[number]))
    _check(params, poorest, len(dealt[poorest]))
    return Partition(*zip(*(_divide(params, number, part) for number, part in enumerate(dealt)), strict=True))


def _deal(params: FederatedParams, labels: NDArray[np.int64]) -> list[Positions]:
    """Positions in `labels`, which are in a random order, for each institution."""
    many, count = params.institutions, len(labels)
    if params.partition == "dirichlet":
        return dirichlet(labels, many, params.alpha, params.seed)
    if params.partition == "label":
        return by_label(labels, many, params.classes, params.seed)
    if params.partition == "unequal":
        return unequal(count, many)
    return [np.arange(*shard(count, many, number), dtype=np.int64) for number in range(many)]


def dirichlet(labels: NDArray[np.int64], many: int, alpha: float, seed: int) -> list[Positions]:
    """Divide each label in shares from a symmetric Dirichlet distribution (Yurochkin et al. 2019, arXiv:1905.12022; Hsu
    et al. 2019, arXiv:1909.06335). Draws with too few images for somebody are repeated, up to a hundred times."""
    stream, best = np.random.RandomState([seed, DEAL]), None
    for _ in range(DRAWS):
        parts: list[list[Positions]] = [[] for _ in range(many)]
        for label in range(DIGITS):
            there = np.flatnonzero(labels == label)
            # A share may underflow to no number where alpha is tiny: then one institution has the label to itself.
            shares = np.nan_to_num(stream.dirichlet(np.full(many, alpha)))
            if not shares.sum() > 0:
                shares[stream.randint(many)] = 1.0
            ends = np.rint(np.cumsum(shares / shares.sum())[:-1] * len(there)).astype(np.int64)
            for part, piece in zip(parts, np.split(there, ends), strict=True):
                part.append(piece)
        found = [np.concatenate(part) for part in parts]
        if best is None or min(map(len, found)) > min(map(len, best)):
            best = found
        if min(map(len, best)) >= LEAST:
            break
    assert best is not None
    return best


def by_label(labels: NDArray[np.int64], many: int, classes: int, seed: int) -> list[Positions]:
    """Give each institution `classes` of the labels. Raises BadInput where some label would belong to nobody."""
    if many * classes < DIGITS:
        raise BadInput(
            f"{many} institution{'s' * (many > 1)} of {classes} digit{'s' * (classes > 1)} each would leave "
            f"{DIGITS - many * classes} of the {DIGITS} digits to nobody; take classes of at least "
            f"{math.ceil(DIGITS / many)}."
        )
    deck = order(DIGITS, [seed, DEAL, 1])
    owners: list[list[int]] = [[] for _ in range(DIGITS)]
    for number in range(many):
        for card in range(classes):
            owners[deck[(number * classes + card) % DIGITS]].append(number)
    parts: list[list[Positions]] = [[] for _ in range(many)]
    for label, those in enumerate(owners):
        there = np.flatnonzero(labels == label)
        for place, owner in enumerate(those):
            # Who comes first has one image more where they don't divide: not always the same institution.
            turn = (place + label) % len(those)
            parts[owner].append(there[slice(*shard(len(there), len(those), turn))])
    return [np.concatenate(part).astype(np.int64) for part in parts]


def unequal(count: int, many: int) -> list[Positions]:
    """The first institution has twice as many as the second, three times as many as the third (Zipf); none has fewer
    than two."""
    shares = 1 / np.arange(1, many + 1)
    sizes = LEAST + np.floor((count - LEAST * many) * shares / shares.sum()).astype(np.int64)
    sizes[0] += count - sizes.sum()
    return np.split(np.arange(count, dtype=np.int64), np.cumsum(sizes)[:-1])


def _check(params: FederatedParams, institution: int, count: int) -> None:
    if count >= LEAST:
        return
    have = "no images" if count == 0 else "only one image"
    right = {
        "dirichlet": f"a larger alpha than {params.alpha:g}, fewer institutions or another seed",
        "label": "more classes or fewer institutions",
    }.get(params.partition, "fewer institutions")
    raise BadInput(
        f"Institution {institution + 1} would have {have}, where it needs one to learn from and one to validate with; "
        f"take {right}."
    )


def _divide(params: FederatedParams, institution: int, positions: Positions) -> tuple[Positions, Positions]:
    """What an institution learns from, and what it keeps to validate with: at least one image each."""
    shuffled = positions[order(len(positions), [params.seed, OWN, institution])]
    kept = min(max(round(params.validation * len(shuffled)), 1), len(shuffled) - 1)
    return shuffled[kept:], shuffled[:kept]


def label_counts(labels: NDArray[np.int64], positions: Sequence[int] | Positions) -> list[int]:
    """How many of each digit there are among some positions, [10]."""
    return np.bincount(labels[positions], minlength=DIGITS).tolist()
