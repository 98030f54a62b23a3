"""What every step of a rank reads, from `batches`: its examples, and what they count for in the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.training.batches import Batches
from workshop.engine.training.loop import Give, StepInput

Read = Callable[[NDArray[np.int64]], tuple[Any, Any]]  # positions among the rank's own examples -> inputs, labels


class StepReader:
    """The steps of a rank's epochs, for `Loop.take`: each is called with inputs, labels and a factor, see
    `step.supervised`. `alone`: gradients aren't exchanged."""

    def __init__(self, batches: Batches, rank: int, read: Read, alone: bool = False) -> None:
        self.batches = batches
        self.rank = rank
        self.read = read
        self.alone = alone
        self._together = batches.together()
        self.steps = len(self._together)  # of an epoch

    def epoch(self, epoch: int) -> Give:
        """What the steps of an epoch work on."""
        order, batch = self.batches.epoch(epoch, self.rank), self.batches.batch

        def give(number: int) -> StepInput:
            positions = order[number * batch : (number + 1) * batch]
            count = len(positions)
            # A rank that has nothing left still takes part: with an example that doesn't count.
            inputs, labels = self.read(positions if count else np.zeros(1, np.int64))
            share = 1 / max(count, 1) if self.alone else self.batches.size / float(self._together[number])
            return StepInput((inputs, labels, share if count else 0.0), count)

        return give
