"""The division of an epoch's examples among ranks whose number may change between two steps. Without MPI.

An epoch is a permutation of all examples. A cursor says how many of them were read by whole steps. A step reads the
next ones, each rank a part of them. So whoever is lost, the next step begins where the last whole one has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workshop.engine.data import order, shard

Span = tuple[int, int]  # begin and end, places in an epoch's permutation


class EpochReads(NamedTuple):
    """How many examples an epoch has read, and how many different ones."""

    epoch: int
    read: int
    distinct: int


def span(cursor: int, count: int, batch: int) -> Span:
    """The places that the next step reads: `batch` of them, or fewer at the end of an epoch of `count` examples."""
    return cursor, min(cursor + batch, count)


def part(places: Span, ranks: int, rank: int) -> Span:
    """A rank's places of a step; ranks' parts differ by one place at most, and may be empty."""
    begin, end = shard(places[1] - places[0], ranks, rank)
    return places[0] + begin, places[0] + end


def permutation(count: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch reads the examples, int64 [count]."""
    return order(count, [seed, epoch])


def count_reads(epoch: int, examples: NDArray[np.int64], spans: Iterable[Span]) -> EpochReads:
    """Count the reads of each example in an epoch: `spans` of the permutation `examples` are what whole steps took."""
    reads = np.zeros(len(examples), np.int64)
    for begin, end in spans:
        np.add.at(reads, examples[begin:end], 1)
    return EpochReads(epoch, int(reads.sum()), int((reads > 0).sum()))


def steps_from(cursor: int, count: int, batch: int, epochs: int) -> int:
    """The steps that remain in an epoch that is read up to the cursor, and in the `epochs` after it."""
    return -(-(count - cursor) // batch) + epochs * -(-count // batch)
