"""The ring all-reduce, written out.

Every rank has an array; afterwards every rank has the sum of all of them. The ranks sit in a ring, and each talks to
its two neighbours alone: it sends to the one on its right and receives from the one on its left, at the same time.

The array is cut into as many chunks as there are ranks. With three ranks, and `a0` for rank 0's part of chunk a:

    rank 0    a0 b0 c0           rank 1    a1 b1 c1           rank 2    a2 b2 c2

First half, reduce-scatter. In every step each rank passes on one chunk, and adds what arrives to its own. After n - 1
steps each rank has one chunk that all ranks have added to:

    rank 0    .. B  ..           rank 1    .. .. C            rank 2    A  .. ..

Second half, all-gather. The finished chunks go round once more, and now what arrives replaces what was there:

    rank 0    A  B  C            rank 1    A  B  C            rank 2    A  B  C

Each rank sends 2 (n - 1) chunks of 1/n of the array, so less than twice the array, however many ranks there are. No
all-reduce can do with less (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
JPDC 2009). The price is 2 (n - 1) messages one after the other: for small arrays, other ways are faster.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def ring(comm: Any, values: NDArray[Any]) -> None:
    """Replace `values` (one-dimensional, of any length) by the sum over all ranks' values. Collective."""
    rank, ranks = comm.Get_rank(), comm.Get_size()
    right_rank, left_rank = (rank + 1) % ranks, (rank - 1) % ranks

    # Views of the array, not copies. Chunks differ by one element at most; of fewer elements than ranks some are empty.
    ends = [len(values) * number // ranks for number in range(ranks + 1)]
    chunks = [values[begin:end] for begin, end in pairwise(ends)]
    arrived = np.empty(max(map(len, chunks)), values.dtype)

    # Reduce-scatter: what arrives in one step is what is passed on in the next.
    for step in range(ranks - 1):
        passed_on = chunks[(rank - step) % ranks]
        own_chunk = chunks[(rank - step - 1) % ranks]
        arrived_chunk = arrived[: len(own_chunk)]
        comm.Sendrecv(passed_on, dest=right_rank, recvbuf=arrived_chunk, source=left_rank)
        own_chunk += arrived_chunk

    # All-gather: the chunk that is finished here is the one after our own.
    for step in range(ranks - 1):
        passed_on = chunks[(rank - step + 1) % ranks]
        replaced = chunks[(rank - step) % ranks]
        comm.Sendrecv(passed_on, dest=right_rank, recvbuf=replaced, source=left_rank)
