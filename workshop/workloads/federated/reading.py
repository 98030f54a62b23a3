"""Which of its images an institution reads in a round: pure functions of a seed, wherever it lives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

READ = 36  # stream of a seed


def batches(
    count: int, batch: int, *, epochs: int, steps: int | None, seed: tuple[int, ...]
) -> list[NDArray[np.int64]]:
    """Positions among `count` images, a batch for each step of a round.

    An epoch reads every image once, in an order of its own; its last batch may be smaller. `steps` takes so many steps
    instead, over as many epochs as they need. A batch has at most `count` images.
    """
    found: list[NDArray[np.int64]] = []
    epoch = 0
    while len(found) < steps if steps is not None else epoch < epochs:
        order = np.random.RandomState([READ, *seed, epoch]).permutation(count).astype(np.int64)
        found += [order[at : at + batch] for at in range(0, count, batch)]
        epoch += 1
    return found if steps is None else found[:steps]
