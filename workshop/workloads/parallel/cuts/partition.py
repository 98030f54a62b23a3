"""The layers of a network in parts, one after the other, for the stages of a pipeline."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from workshop.core.errors import BadInput
from workshop.workloads.parallel.network.layers import Layer


def parts_of(
    layers: Sequence[Layer], parts: int, operations: Sequence[int], counts: Sequence[int] = ()
) -> list[Sequence[Layer]]:
    """The layers in so many parts: of `counts`, or so that the part with the most `operations` has as few as possible.
    Raises BadInput where it can't be done."""
    if len(layers) < parts:
        raise BadInput(f"{len(layers)} layers can't be divided into {parts} parts; take fewer stages or more layers.")
    if counts and (len(counts) != parts or sum(counts) != len(layers) or min(counts) < 1):
        raise BadInput(
            f"Parts of {', '.join(map(str, counts))} layers don't fit: the network has {len(layers)} layers and the "
            f"pipeline {parts} parts of at least one layer."
        )
    ends = list(itertools.accumulate(counts)) if counts else _balanced(operations, parts)
    return [layers[begin:end] for begin, end in itertools.pairwise([0, *ends])]


def _balanced(operations: Sequence[int], parts: int) -> list[int]:
    """The ends of parts whose largest sum of operations is as small as possible; of several, the most equal ones."""
    sums = [0, *itertools.accumulate(operations)]
    best: dict[tuple[int, int], tuple[int, int, tuple[int, ...]]] = {
        (0, 0): (0, 0, ())
    }  # by parts and layers: the largest sum, the sum of squares, the ends
    for part in range(1, parts + 1):
        for end in range(part, len(operations) - (parts - part) + 1):
            best[part, end] = min(
                (max(most, size := sums[end] - sums[begin]), squares + size**2, (*ends, end))
                for begin in range(part - 1, end)
                if (part - 1, begin) in best
                for most, squares, ends in [best[part - 1, begin]]
            )
    return list(best[parts, len(operations)][2])
