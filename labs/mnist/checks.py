"""Checks of lab 2: the steps, and the weighted average."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import confirmed, rehearsed, worlds

# Images, ranks and batch: with a remainder and without, with a rank that has nothing left in the last step.
DEALS = ((1437, 2, 64), (1437, 4, 64), (129, 2, 64), (256, 4, 64), (10, 4, 3), (8, 1, 8))
SHAPES = ((3, 4), (4,), (2, 3, 2))
WEIGHTLESS = "Every rank calls the same collectives; one without images takes part as well, with a weight of zero."
CLOSE = 1e-4  # relative: sums of float32 differ with their order


# Exercise 1.


@exercise(
    "batch_sizes",
    hint=(
        "Compute three numbers first: your own share, the largest share of any rank, and the steps of that "
        "largest share. Then each of your batches is what is left of your share, at most `batch` and at least"
        " 0."
    ),
    reason=(
        "The largest share decides the number of steps for every rank. A rank whose images are used up takes "
        "part with 0."
    ),
)
def batch_sizes(given: Callable[..., Any]) -> None:
    for images, size, batch in DEALS:
        sizes = [_sizes(given(images, rank, size, batch)) for rank in range(size)]
        _judge(sizes, images, size, batch)


def _sizes(found: Any) -> list[int]:
    if found is None or found is Ellipsis:
        raise Hint("Nothing is there yet: batch_sizes should return a list with a number for each step.")
    if isinstance(found, np.ndarray):
        found = found.tolist()
    if not isinstance(found, list | tuple):
        raise Hint(
            f"batch_sizes should return a list with a number for each step, and returned {type(found).__name__}."
        )
    if not all(isinstance(one, int | np.integer) for one in found):
        raise Hint("The sizes of batches should be whole numbers: there is no half image (// divides without a rest).")
    return [int(one) for one in found]


def _judge(sizes: Sequence[Sequence[int]], images: int, size: int, batch: int) -> None:
    """The batches of all ranks."""
    where = f"With {images} images, {size} rank{'s' if size > 1 else ''} and batches of {batch}"
    steps, shares = [len(mine) for mine in sizes], [sum(mine) for mine in sizes]
    if any(one < 0 for mine in sizes for one in mine):
        raise Hint(f"{where}, some batch is negative: a rank that has nothing left has a batch of 0.")
    if any(one > batch for mine in sizes for one in mine):
        raise Hint(f"{where}, some batch is larger than {batch}.")
    if size > 1 and sum(shares) == size * images:
        raise Hint(f"{where}, every rank reads all images: they should divide them.")
    if sum(shares) < images:
        raise Hint(
            f"{where}, {images - sum(shares)} of the images are read by nobody: what is left over by a whole division "
            "has to be read as well."
        )
    if sum(shares) > images:
        raise Hint(
            f"{where}, the ranks read {sum(shares)} images together: the last batches hold fewer than {batch} where no "
            "more images are left."
        )
    if len(set(steps)) > 1:
        most, least = steps.index(max(steps)), steps.index(min(steps))
        raise Hint(
            f"{where}, rank {most} takes {max(steps)} steps and rank {least} takes {min(steps)}: in the last one rank "
            f"{most} would wait in the all-reduce for ever. Who has nothing left takes part with 0."
        )
    if max(shares) - min(shares) > 1:
        raise Hint(
            f"{where}, the shares are {', '.join(map(str, shares))}: they should differ by at most one image, or the "
            "others wait for whoever has most."
        )
    needed = -(-max(shares) // batch)
    if steps[0] > needed:
        raise Hint(
            f"{where}, {needed} steps are enough; yours are {steps[0]}: fill a batch before the next one begins."
        )


# Exercise 2.


@exercise(
    "average",
    ranks=True,
    hint=(
        "Multiply each gradient by `samples` before the all-reduce, and divide the sum by the sum of "
        "`samples`. For one message, put all gradients and the number of samples into one array."
    ),
    reason=(
        "A sum over all images divided by their number counts every image alike. The number of samples "
        "travels in the same message."
    ),
)
def average(comm: Any, given: Callable[..., Any]) -> None:
    for size in worlds(comm):
        uneven = [64, 5, 30][:size] if size <= 3 else [64, 5, *range(30, 30 + size - 2)]
        for samples in (uneven, [8] * size, [*uneven[:-1], 0]):
            gradients = [_gradients(rank, count) for rank, count in enumerate(samples)]
            copies = [[array.copy() for array in arrays] for arrays in gradients]
            case = f"with batches of {', '.join(map(str, samples))}"
            found = rehearsed(given, list(zip(copies, samples, strict=True)), case, WEIGHTLESS)
            for rank, result in enumerate(found.results):
                _weigh(rank, result, gradients, samples)
        _count_messages(len(found.calls[0]), found.sizes[0])
    samples = [13 + 7 * rank for rank in range(comm.size)]
    gradients = [_gradients(rank, count) for rank, count in enumerate(samples)]
    mine = [array.copy() for array in gradients[comm.rank]]
    wanted = _wanted(gradients, samples)
    confirmed(comm, given, (mine, samples[comm.rank]), lambda result: _fits(result, wanted))


def _count_messages(messages: int, size: int) -> None:
    """Whether that was one message of float32. Raises Hint."""
    needed = 4 * (sum(math.prod(shape) for shape in SHAPES) + 1)  # bytes: all gradients, and the number of images
    if messages > 1:
        raise Hint(
            f"The numbers are right, in {messages} messages of {size} bytes together. Put all gradients and the number "
            "of images into one array, so that it is one message."
        )
    if size > 1.5 * needed:
        raise Hint(
            f"The numbers are right, in a message of {size} bytes; {needed} are enough. Numbers of Python or of "
            "float64 make an array of float64, and each number takes 8 bytes."
        )


def _gradients(rank: int, samples: int) -> list[np.ndarray]:
    stream = np.random.default_rng([23, rank])
    return [(stream.standard_normal(shape) * (samples > 0)).astype(np.float32) for shape in SHAPES]


def _wanted(gradients: Sequence[Sequence[np.ndarray]], weights: Sequence[float], over: float = 0.0) -> list[np.ndarray]:
    """The sum of all ranks' gradients times their weights, divided by `over`; by the weights' sum where it is 0."""
    by = over or sum(weights)
    parts = zip(*gradients, strict=True)
    return [sum(weight * one for weight, one in zip(weights, each, strict=True)) / by for each in parts]


def _fits(result: Any, wanted: Sequence[np.ndarray]) -> bool:
    if not isinstance(result, list | tuple) or len(result) != len(wanted):
        return False
    return all(
        np.shape(one) == two.shape and np.allclose(one, two, rtol=CLOSE, atol=1e-6)
        for one, two in zip(result, wanted, strict=True)
    )


def _weigh(rank: int, result: Any, gradients: Sequence[Sequence[np.ndarray]], samples: Sequence[int]) -> None:
    """Whether that is the mean over all images. Raises Hint."""
    if result is None or result is Ellipsis:
        raise Hint("Nothing is there yet: average should return a list of arrays, on every rank.")
    if not isinstance(result, list | tuple):
        raise Hint(
            f"average should return a list of arrays, as gradients is one, and returned {type(result).__name__}."
        )
    size, arrays = len(samples), len(SHAPES)
    if len(result) == size * arrays:
        raise Hint(
            f"{len(result)} arrays come back where {arrays} were given: the sum of lists is one long list; reduce the "
            "arrays themselves."
        )
    shapes = [np.shape(one) for one in result]
    if shapes != list(SHAPES):
        raise Hint(f"The arrays should have the shapes of the gradients, {list(SHAPES)}; yours are {shapes}.")
    if _fits(result, _wanted(gradients, samples)):
        return
    alike, total = [1.0] * size, float(sum(samples))
    counts = ", ".join(map(str, samples))
    mine = float(samples[rank]) or 1.0
    told: list[tuple[list[np.ndarray], str]] = [
        (gradients[rank], "Each rank gets its own gradients back: nothing was exchanged."),
        (_wanted(gradients, alike, 1.0), "That is the sum of all gradients; asked for is the mean."),
        (
            _wanted(gradients, alike, size),
            f"The ranks count alike here, the images should: with batches of {counts}, weight each rank's gradients by "
            "its images before they are added up.",
        ),
        (
            _wanted(gradients, samples, size),
            "The gradients are weighted by the images, but divided by the number of ranks: how many images are behind "
            "the sum?",
        ),
        (
            _wanted(gradients, samples, 1.0),
            "That is the weighted sum: it isn't divided by the number of all images yet.",
        ),
        (
            _wanted(gradients, alike, total),
            "The sum is divided by all images, but the gradients were not weighted: each is a mean over its rank's "
            "images, so multiply first.",
        ),
        (
            _wanted(gradients, samples, mine),
            "Each rank divides by its own images, so the ranks don't agree: divide by those of all ranks.",
        ),
    ]
    for wanted, hint in told:
        if _fits(result, wanted):
            raise Hint(hint)
    if any(not np.isfinite(one).all() for one in result):
        raise Hint(
            f"With batches of {counts}, rank {rank} gets numbers that are not finite: is something divided by 0?"
        )
    raise Hint(f"With batches of {counts}, what rank {rank} gets is not the mean over all images.")
