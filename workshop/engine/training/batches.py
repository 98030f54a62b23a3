"""Which examples every rank reads in which step: pure functions of a seed, the same on all ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.data import order, shard_indices


@dataclass(frozen=True)
class Batches:
    """`count` examples dealt out to `size` ranks in batches of at most `batch` each.

    With `shard`, ranks own disjoint examples; without, every rank reads all of them, in the same order. With `divide`,
    an epoch reads every example once; without, every rank takes as many steps as a single one would, and so the epoch
    reads `size` times as many. All ranks take the same number of steps; in the last one, batches may be smaller.
    """

    count: int
    size: int
    batch: int
    seed: int
    shard: bool = True
    divide: bool = True

    def __post_init__(self) -> None:
        if self.count < self.size:
            several = "s" if self.count > 1 else ""
            raise BadInput(
                f"{self.size} ranks can't share {self.count} example{several}; take at most {self.count} rank{several}."
            )
        most = self.count // self.size if self.divide or self.shard else self.count
        if self.batch > most:
            share = "a rank's share" if most < self.count else "the whole"
            raise BadInput(
                f"batch is {self.batch}, but of the {self.count} examples {share} is only {most}; "
                f"take a batch of at most {most}" + (", or fewer ranks." if most < self.count else ".")
            )

    def examples(self, rank: int) -> NDArray[np.int64]:
        """The examples that a rank holds."""
        if self.shard:
            return shard_indices(self.count, self.size, rank, self.seed)
        return order(self.count, self.seed)

    def reads(self, rank: int) -> int:
        """How many examples a rank reads in an epoch."""
        if not self.divide:
            return self.count
        return len(self.examples(rank)) if self.shard else -(-self.count // self.size)

    @property
    def steps(self) -> int:
        """Steps of an epoch, on every rank."""
        return -(-max(self.reads(rank) for rank in range(self.size)) // self.batch)

    @property
    def uneven(self) -> bool:
        """Whether some batch of some rank is smaller than the others."""
        return bool((self.together() < self.batch * self.size).any())

    def epoch(self, epoch: int, rank: int) -> NDArray[np.int64]:
        """The examples that a rank reads in an epoch, in order: positions in `examples(rank)`, int64 [reads(rank)]."""
        held_count, read_count = len(self.examples(rank)), self.reads(rank)
        # Without shards all ranks draw the same order: that is what reading the same data means.
        stream = np.random.default_rng([self.seed, epoch, rank if self.shard else 0])
        passes = [stream.permutation(held_count) for _ in range(-(-read_count // held_count))]
        return np.concatenate(passes)[:read_count].astype(np.int64)

    def together(self) -> NDArray[np.int64]:
        """Examples that all ranks read in each step of an epoch, int64 [steps]."""
        begins = np.arange(self.steps) * self.batch
        total = np.zeros(self.steps, np.int64)
        for rank in range(self.size):
            total += np.clip(self.reads(rank) - begins, 0, self.batch)
        return total

    def distinct(self, epoch: int) -> int:
        """How many different examples all ranks together read in an epoch."""
        read = np.zeros(self.count, bool)
        for rank in range(self.size):
            read[self.examples(rank)[self.epoch(epoch, rank)]] = True
        return int(read.sum())
