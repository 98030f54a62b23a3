"""Wrong answers that learners of lab 1 give, and a piece of the hint that each has to get."""

from __future__ import annotations

from workshop.course.exercise_checks import Mistake

# Exercise 1: all but the lines that are wrong.
PARTIAL = """%%ranks
import numpy as np


def partial(points, centroids):
    squared = np.square(points[:, None] - centroids).sum(axis=2)
    labels = np.argmin(squared, axis=1)
    counts = np.bincount(labels, minlength=len(centroids))
    sums = np.zeros(centroids.shape)
    np.add.at(sums, labels, points)
    inertia = squared.min(axis=1).sum()
    return sums, counts, inertia
"""

# Exercise 2, likewise.
FUSED = """%%ranks
import numpy as np
from mpi4py import MPI


def fused(comm, sums, counts, inertia):
    buffer = np.concatenate([sums.ravel(), counts, [inertia]])
    comm.Allreduce(MPI.IN_PLACE, buffer)
    return buffer[: sums.size].reshape(sums.shape), buffer[sums.size : -1], buffer[-1]
"""


def _changed(text: str, right: str, wrong: str) -> str:
    """The text with one of its lines made wrong."""
    if text.count(right) != 1:
        raise ValueError(f"{right!r} should be there once")
    return text.replace(right, wrong)


MISTAKES = {
    "shard": [
        Mistake("left empty", code="def shard(count, size, rank):\n    ...\n", hint="Nothing is there yet"),
        Mistake(
            "forgets the remainder",
            code="""def shard(count, size, rank):
    each = count // size
    return rank * each, (rank + 1) * each
""",
            hint="remainder",
        ),
        Mistake(
            "the last rank gets the rest",
            code="""def shard(count, size, rank):
    each = count // size
    return rank * each, count if rank == size - 1 else (rank + 1) * each
""",
            hint="differ by one at most",
        ),
        Mistake(
            "begins too early after a longer block",
            code="""def shard(count, size, rank):
    each, more = divmod(count, size)
    begin = rank * each
    return begin, begin + each + (rank < more)
""",
            hint="a longer block moves all that follow",
        ),
        Mistake(
            "takes the end for a part of the block",
            code="""def shard(count, size, rank):
    each, more = divmod(count, size)
    begin = rank * each + min(rank, more)
    return begin, begin + each + (rank < more) - 1
""",
            hint="the end isn't part of a block",
        ),
        Mistake(
            "divides with /",
            code="""def shard(count, size, rank):
    return rank * count / size, (rank + 1) * count / size
""",
            hint="whole numbers",
        ),
        Mistake(
            "rounds every block up",
            code="""def shard(count, size, rank):
    each = -(-count // size)
    return rank * each, (rank + 1) * each
""",
            hint="where there is nothing any more",
        ),
        Mistake(
            "counts ranks from 1",
            code="""def shard(count, size, rank):
    each, more = divmod(count, size)
    begin = rank * each + min(rank, more)
    return begin + 1, begin + 1 + each + (rank < more)
""",
            hint="counted from 0",
        ),
        Mistake(
            "forgets the rank", code="def shard(count, size, rank):\n    return 0, count // size\n", hint="same block"
        ),
    ],
    "partial": [
        Mistake("left empty", code="%%ranks\ndef partial(points, centroids):\n    ...\n", hint="Nothing is there yet"),
        Mistake(
            "returns means",
            code=_changed(PARTIAL, "return sums,", "return sums / np.maximum(counts, 1)[:, None],"),
            hint="means already",
        ),
        Mistake(
            "adds once for each label",
            code=_changed(PARTIAL, "np.add.at(sums, labels, points)", "sums[labels] += points"),
            hint="adds once for each label",
        ),
        Mistake(
            "counts once for each label",
            code=_changed(
                PARTIAL,
                "counts = np.bincount(labels, minlength=len(centroids))",
                "counts = np.zeros(len(centroids))\n    counts[labels] += 1",
            ),
            hint="no count is above 1",
        ),
        Mistake(
            "forgets labels that no point has",
            code=_changed(PARTIAL, "np.bincount(labels, minlength=len(centroids))", "np.bincount(labels)"),
            hint="labels that no point has need a place",
        ),
        Mistake(
            "adds up distances, not squares",
            code=_changed(PARTIAL, "squared.min(axis=1).sum()", "np.sqrt(squared.min(axis=1)).sum()"),
            hint="add up their squares",
        ),
        Mistake(
            "averages the inertia",
            code=_changed(PARTIAL, "squared.min(axis=1).sum()", "squared.min(axis=1).mean()"),
            hint="your inertia is a mean",
        ),
        Mistake(
            "adds up the distances to all centroids",
            code=_changed(PARTIAL, "squared.min(axis=1).sum()", "squared.sum()"),
            hint="only the nearest",
        ),
        Mistake(
            "takes the farthest centroid",
            code=_changed(PARTIAL, "np.argmin", "np.argmax"),
            hint="farthest",
        ),
    ],
    "fused": [
        Mistake(
            "left empty",
            code="%%ranks\ndef fused(comm, sums, counts, inertia):\n    ...\n",
            hint="Nothing is there yet",
        ),
        Mistake(
            "three messages",
            code="""%%ranks
def fused(comm, sums, counts, inertia):
    return comm.allreduce(sums), comm.allreduce(counts), comm.allreduce(inertia)
""",
            hint="in 3 collectives",
        ),
        Mistake(
            "exchanges nothing",
            code=_changed(FUSED, "    comm.Allreduce(MPI.IN_PLACE, buffer)\n", ""),
            hint="nothing has been added up",
        ),
        Mistake(
            "averages",
            code=_changed(FUSED, "buffer)\n    return", "buffer)\n    buffer /= comm.Get_size()\n    return"),
            hint="not averaged",
        ),
        Mistake(
            "adds up tuples",
            code="""%%ranks
def fused(comm, sums, counts, inertia):
    return comm.allreduce((sums, counts, inertia))
""",
            hint="a longer tuple",
        ),
        Mistake(
            "reduces to rank 0",
            code=_changed(FUSED, "comm.Allreduce(MPI.IN_PLACE, buffer)", "buffer = comm.reduce(buffer, root=0)"),
            hint="only the root has the result",
        ),
        Mistake(
            "all-reduces on rank 0 alone",
            code=_changed(FUSED, "    comm.Allreduce", "    if comm.Get_rank() == 0:\n        comm.Allreduce"),
            hint="collective needs every rank",
        ),
        Mistake(
            "rounds to float32",
            code=_changed(FUSED, "[inertia]])", "[inertia]]).astype(np.float32)"),
            hint="should be float64",
        ),
        Mistake(
            "leaves the inertia among the counts",
            code=_changed(FUSED, "buffer[sums.size : -1]", "buffer[sums.size :]"),
            hint="the inertia is still among them",
        ),
        Mistake(
            "leaves the sums flat",
            code=_changed(FUSED, ".reshape(sums.shape)", ""),
            hint="the sums have the shape",
        ),
    ],
}
