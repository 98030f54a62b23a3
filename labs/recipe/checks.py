"""Checks of lab 3: the broadcast, and the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import confirmed, rehearsed, worlds

SHAPES = ((3, 4), (4,), (2, 3, 2))
ROOT = "Every rank has to call the same collective, with the same root and as often as the others."
CLOSE = 1e-4  # relative: sums of float32 differ with their order


# Exercise 1.


def _drawn(rank: int) -> list[np.ndarray]:
    stream = np.random.default_rng([11, rank])
    return [stream.standard_normal(shape).astype(np.float32) for shape in SHAPES]


@exercise(
    "broadcast",
    ranks=True,
    hint=(
        "`comm.Bcast(array, root=0)` writes into the array. Every rank has to call it, for every array, in "
        "the same order."
    ),
    reason=(
        "`Bcast` fills each array in place on all ranks. `bcast` in small letters would return a new object, "
        "and the network would keep its old arrays."
    ),
)
def broadcast(comm: Any, given: Callable[..., Any]) -> None:
    for size in worlds(comm):
        held = [_drawn(rank) for rank in range(size)]
        lists = [list(arrays) for arrays in held]
        found = rehearsed(given, [(mine,) for mine in lists], advice=ROOT)
        if not any(found.calls):
            raise Hint("Nothing is there yet: no rank has called a collective, so nothing can come from rank 0.")
        _same(found.results, held, lists, size)
    mine = _drawn(comm.rank)
    confirmed(comm, given, [mine], lambda _: all(np.array_equal(*pair) for pair in zip(mine, _drawn(0), strict=True)))


def _same(results: Sequence[Any], held: Sequence[Sequence[np.ndarray]], lists: Sequence[Any], size: int) -> None:
    """Whether the arrays of all ranks are rank 0's. Raises Hint."""
    drawn = [_drawn(rank) for rank in range(size)]

    def those(arrays: Any, wanted: Sequence[np.ndarray]) -> list[bool]:
        if not isinstance(arrays, list | tuple) or len(arrays) != len(wanted):
            return [False] * len(wanted)
        return [
            np.shape(one) == two.shape and np.allclose(one, two, rtol=CLOSE)
            for one, two in zip(arrays, wanted, strict=True)
        ]

    right = [those(arrays, drawn[0]) for arrays in held]
    if all(map(all, right)):
        return
    if not any(_written(arrays, drawn[rank]) for rank, arrays in enumerate(held)):
        unused = all(result is None for result in results)
        if unused and all(all(those(mine, drawn[rank])) for rank, mine in enumerate(lists)):
            raise Hint("The arrays are what they were on all ranks: what came from rank 0 is not written into them.")
        if all(all(those(mine, drawn[0])) for mine in lists) or all(all(those(one, drawn[0])) for one in results):
            raise Hint(
                "Rank 0's numbers arrive, but in new arrays: the network holds the old ones, which are what they were. "
                "Fill them in place."
            )
        raise Hint("The arrays are what they were on all ranks; rank 0's numbers should be in them.")
    mean = [np.mean(arrays, axis=0) for arrays in zip(*drawn, strict=True)]
    total = [np.sum(arrays, axis=0) for arrays in zip(*drawn, strict=True)]
    for wanted, what in ((mean, "the mean of all ranks' weights"), (total, "the sum of all ranks' weights")):
        if all(all(those(arrays, wanted)) for arrays in held):
            raise Hint(f"All ranks have {what} now; asked for is a copy of rank 0's.")
    for rank in range(1, size):
        if all(all(those(arrays, drawn[rank])) for arrays in held):
            raise Hint(f"All ranks have rank {rank}'s weights now; the root should be rank 0.")
    if not all(right[0]):
        raise Hint("Rank 0's own weights have changed; it is the one whose weights everybody should get.")
    some = [sum(each) for each in right[1:]]
    if min(some) > 0 and max(some) < len(SHAPES):
        raise Hint(
            f"{min(some)} of the {len(SHAPES)} arrays is right on all ranks, the others are what they were: a network "
            "has more than one."
        )
    wrong = next(rank for rank in range(1, size) if not all(right[rank]))
    raise Hint(f"Rank {wrong}'s weights are not those of rank 0 afterwards.")


def _written(arrays: Sequence[np.ndarray], before: Sequence[np.ndarray]) -> bool:
    """Whether anything was written into these arrays."""
    return not all(np.array_equal(*pair) for pair in zip(arrays, before, strict=True))


# Exercise 2.


def rate_of(step: int, rate: float, size: int, steps_per_epoch: int, warmup: float) -> float:
    """Linear scaling with a warm-up, as it is asked for."""
    full, passed = rate * size, step / steps_per_epoch
    return full if passed >= warmup else rate + (full - rate) * passed / warmup


@exercise(
    "rate_at",
    hint=(
        "Turn the step into epochs first: `step / steps_per_epoch`. Before `warmup` epochs, the rate lies on "
        "a straight line from `rate` to `rate * size`; afterwards it is `rate * size`."
    ),
    reason=(
        "The line begins at the rate of one rank and ends at the scaled rate. With a warm-up of 0 the first "
        "comparison is false for every step, so nothing is divided by 0."
    ),
)
def rate_at(given: Callable[..., Any]) -> None:
    rate, size, each, warmup = 0.02, 4, 10, 3

    def at(step: int, size: int = size, warmup: float = warmup) -> float:
        found = given(step, rate, size, each, warmup)
        if found is None or found is Ellipsis:
            raise Hint("Nothing is there yet: rate_at should return the learning rate of a step, a number.")
        if not isinstance(found, int | float | np.number) or isinstance(found, bool):
            raise Hint(f"rate_at should return a number, and returned {type(found).__name__}.")
        return float(found)

    # Behind the warm-up.
    late, full = at(5 * each), rate * size
    if not _near(late, full):
        raise Hint(_late(late, rate, size, at(50 * each)))
    if not _near(at(50 * each), full):
        raise Hint("Behind the warm-up the rate should stay as it is; yours goes on changing.")
    # In it.
    begins = at(0)
    if _near(begins, full):
        raise Hint("The full rate is there from step 0 on: during the warm-up it should grow towards it.")
    if _near(begins, 0.0):
        raise Hint(
            "At step 0 the rate is 0, and nothing would be learned; it grows from one rank's rate, not from zero."
        )
    if not _near(begins, rate):
        raise Hint(f"At step 0 the rate should be that of one rank, {rate}; yours is {begins:.4g}.")
    for step in (1, 5, 14, 15, 29):
        found, wanted = at(step), rate_of(step, rate, size, each, warmup)
        if _near(found, wanted):
            continue
        if _near(found, full) or _near(found, rate_of(step, rate, size, 1, warmup)):
            raise Hint(
                f"With {each} steps in an epoch and warmup={warmup}, your full rate is reached long before step "
                f"{warmup * each}: warmup counts epochs, step counts steps."
            )
        if _near(found, rate_of(step // each * each, rate, size, each, warmup)):
            raise Hint(f"The rate jumps from epoch to epoch: it should grow with every step, also from 0 to {step}.")
        raise Hint(
            f"At step {step} of a warm-up of {warmup * each} the rate should have grown by {step}/{warmup * each} "
            f"of what lies between one rank's rate and the full one; yours is {found:.4g}."
        )
    # Where there is nothing to grow.
    if not _near(at(0, warmup=0), full):
        raise Hint("With warmup=0 the rate should be the full one from step 0 on.")
    if not _near(at(7, warmup=1.5), rate_of(7, rate, size, each, 1.5)):
        raise Hint("A warm-up may be a fraction of an epoch: with warmup=1.5 your rate at step 7 is off.")
    if not _near(at(4, size=1), rate):
        raise Hint("With one rank nothing should change: the rate is that of one rank in every step.")


def _late(found: float, rate: float, size: int, later: float) -> str:
    """What is wrong with the rate behind the warm-up."""
    if not _near(found, later) and later > found > rate * size:
        return "The rate goes on growing behind the warm-up: there it should stay at the full rate."
    if _near(found, rate):
        return f"Behind the warm-up {size} ranks have the rate of one: multiply it by the number of ranks."
    if _near(found, rate / size):
        return "The rate is divided by the ranks: divided are the steps, the rate is multiplied."
    if _near(found, rate * math.sqrt(size)):
        return "That is the square root rule, the more careful one; asked for is linear scaling."
    return f"Behind the warm-up the rate of {size} ranks should be {size} times {rate}; yours is {found:.4g}."


def _near(found: float, wanted: float) -> bool:
    return math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-12)
