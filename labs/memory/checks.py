"""Checks of lab 10: the bytes of a rank, a divided layer, and the outputs that recomputation keeps in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import call, called, confirmed, is_empty, rehearsed, worlds

Array = NDArray[np.float64]

# Exercise 1

USES = ("weights", "gradients", "Adam state")
BYTES = {"float32": (4, 4, 8), "mixed": (2, 2, 12)}  # of a weight, by use


def expected_bytes(parameters: int, ranks: int, stage: int, precision: str) -> tuple[int, int, int]:
    """The bytes of a rank: weights, gradients, Adam's state."""
    share = -(-parameters // ranks)
    weights, gradients, adam = BYTES[precision]
    return (
        weights * (share if stage >= 3 else parameters),
        gradients * (share if stage >= 2 else parameters),
        adam * (share if stage >= 1 else parameters),
    )


@exercise(
    "bytes_of_rank",
    hint=(
        "Begin with the bytes of a weight by use: (4, 4, 8) in float32 and (2, 2, 12) in mixed precision. Then decide "
        "for each use: does this stage divide it? Multiply by `share` or by `parameters`."
    ),
    reason=(
        "Stage 1 divides Adam's state, stage 2 also the gradients, stage 3 also the weights. `-(-a // b)` rounds a "
        "share up, so the ranks together have room for all parameters."
    ),
)
def bytes_of_rank(function: Callable[..., Any]) -> None:
    """First one rank in both precisions, then each stage, then shares that have to be rounded up."""
    for precision in BYTES:
        _compare_bytes(function, 1000, 1, 0, precision)
    for precision in BYTES:
        for stage in range(4):
            _compare_bytes(function, 1000, 4, stage, precision)
    for stage in (1, 3):
        _compare_bytes(function, 1001, 4, stage, "float32")
    _compare_bytes(function, 7_000_000_000, 64, 3, "mixed")


def _compare_bytes(function: Callable[..., Any], parameters: int, ranks: int, stage: int, precision: str) -> None:
    """Raises Hint for a mistake with these arguments."""
    arguments = (parameters, ranks, stage, precision)
    answer, text = called("bytes_of_rank", function, *arguments), call("bytes_of_rank", *arguments)
    expected = expected_bytes(*arguments)
    numbers = _three_numbers(answer, text, expected)
    if numbers == expected:
        return
    if sorted(numbers) == sorted(expected) and stage == 0:
        raise Hint(f"{text} has the right numbers in another order: weights, gradients, Adam's state.")
    for use, number, right in zip(USES, numbers, expected, strict=True):
        if number != right:
            raise Hint(f"{text}: {_why(USES.index(use), number, *arguments)}")


def _three_numbers(answer: Any, text: str, expected: Sequence[int]) -> tuple[float, ...]:
    """The answer as three numbers. Raises Hint."""
    if isinstance(answer, int | float | np.number):
        if answer == sum(expected):
            raise Hint(f"{text} is the right sum. Return the three parts: weights, gradients, Adam's state.")
        raise Hint(f"{text} is a single number; return three: the bytes of weights, gradients and Adam's state.")
    try:
        numbers = tuple(answer)
    except TypeError:
        numbers = ()
    if len(numbers) != 3 or not all(isinstance(number, int | float | np.number) for number in numbers):
        raise Hint(f"{text} is {answer!r:.60}; it should be three numbers: weights, gradients, Adam's state.")
    return numbers


def _why(use: int, number: float, parameters: int, ranks: int, stage: int, precision: str) -> str:
    """What is wrong with the bytes of a use."""
    name, each = USES[use], BYTES[precision][use]
    share = -(-parameters // ranks)
    divided = stage >= 3 - use
    right = each * (share if divided else parameters)
    start = f"the bytes of the {name} should be {right:,}, and yours are {number:,}"
    count = share if divided else parameters
    if not divided and ranks > 1 and number == each * share:
        return f"{start}. ZeRO {stage} doesn't divide the {name}: {_divides(stage)}."
    if divided and number == each * parameters:
        return f"{start}. ZeRO {stage} divides the {name}: {_divides(stage)}."
    if divided and parameters % ranks and number in (each * (parameters // ranks), each * parameters // ranks,
                                                    each * parameters / ranks):  # fmt: skip
        return f"{start}. {parameters} parameters can't be divided evenly: round the share up, and then count bytes."
    if number == count:
        return f"{start}. That is a number of values; multiply it by the bytes of each value."
    if use == 2 and precision == "mixed" and number == 8 * count:
        return f"{start}. Mixed precision also keeps the weights in float32 for the update: 4 + 4 + 4 bytes."
    if number == BYTES["float32" if precision == "mixed" else "mixed"][use] * count:
        other = "float32" if precision == "mixed" else "mixed precision"
        return f"{start}. Those are the bytes in {other}; look at the argument `precision`."
    if use == 2 and precision == "mixed" and number in (4 * count, 6 * count):
        return f"{start}. Adam's state is in float32 also in mixed precision, with a copy of the weights."
    if use == 2 and number == 4 * count:
        return f"{start}. Adam has two numbers for each weight: a mean and a mean of squares."
    if use == 0 and precision == "mixed" and number == 6 * count:
        return f"{start}. The copy in float32 counts as Adam's state here, since only the update needs it."
    return f"{start}."


def _divides(stage: int) -> str:
    return (
        "it divides nothing",
        "it divides Adam's state alone",
        "it divides Adam's state and the gradients",
        "it divides all three",
    )[stage]


# Exercise 2

EXAMPLES, WIDTH = 3, 5
ROOT = "Every rank has to call the same collective as often as the others, outside of any condition on the rank."


def _operands(size: int, seed: int = 0) -> tuple[Array, ...]:
    """Inputs, the matrix of the columns with its bias, the matrix of the rows with its bias."""
    stream = np.random.default_rng([17, size, seed])
    hidden = 2 * size
    shapes = ((EXAMPLES, WIDTH), (WIDTH, hidden), (hidden,), (hidden, WIDTH), (WIDTH,))
    return tuple(stream.standard_normal(shape) for shape in shapes)


def _relu(values: Array) -> Array:
    return np.maximum(values, 0)


def expected_outputs(x: Array, a: Array, a_bias: Array, b: Array, b_bias: Array) -> Array:
    """The layer in one process."""
    return _relu(x @ a + a_bias) @ b + b_bias


def _partial(operands: Sequence[Array], rank: int, size: int) -> Array:
    """What a rank adds to the outputs."""
    x, a, a_bias, b, _ = operands
    block = slice(rank * len(b) // size, (rank + 1) * len(b) // size)
    return _relu(x @ a[:, block] + a_bias[block]) @ b[block]


@exercise(
    "mlp_forward",
    ranks=True,
    hint=(
        "`block = slice(rank * width, (rank + 1) * width)` with `width = len(b) // size`. The block cuts the columns "
        "of `a`, `a_bias`, and the rows of `b`. Add up the products of all ranks, then add `b_bias`."
    ),
    reason=(
        "ReLU works on each number alone, so a rank can apply it to its own columns. The matching rows of `b` need "
        "only these columns. The sum of all ranks' products is the full product, and the bias comes after the sum."
    ),
)
def mlp_forward(comm: Any, function: Callable[..., Any]) -> None:
    """Compared with the layer in one process, then with other ranks' blocks unreadable."""
    for size in worlds(comm):
        operands = _operands(size)
        rehearsal = rehearsed(function, [tuple(array.copy() for array in operands)] * size, advice=ROOT)
        if all(map(is_empty, rehearsal.results)):
            raise Hint("Nothing is there yet: compute with this rank's blocks, and add up the ranks' products.")
        _compare_outputs(rehearsal.results, operands, size, any(rehearsal.calls))
        calls = max(map(len, rehearsal.calls))
        if calls > 1:
            raise Hint(f"The outputs are right, but each rank calls {calls} collectives; one all-reduce is enough.")
        hidden = rehearsed(function, [_without_others(operands, rank, size) for rank in range(size)], advice=ROOT)
        expected = expected_outputs(*operands)
        for rank, outputs in enumerate(hidden.results):
            if not _equals(outputs, expected):
                raise Hint(
                    f"The outputs are right, but rank {rank} or another rank reads numbers outside of its block. A "
                    "rank of a large model has its block of columns and its block of rows only."
                )
    operands = _operands(comm.Get_size(), seed=1)
    right = expected_outputs(*operands)
    confirmed(comm, function, operands, lambda outputs: _equals(outputs, right))


def _without_others(operands: Sequence[Array], rank: int, size: int) -> tuple[Array, ...]:
    """The operands of a rank, with numbers of its own blocks only."""
    x, a, a_bias, b, b_bias = operands
    width = len(b) // size
    outside = np.ones(len(b), bool)
    outside[rank * width : (rank + 1) * width] = False
    return (
        x,
        np.where(outside, np.nan, a),
        np.where(outside, np.nan, a_bias),
        np.where(outside[:, None], np.nan, b),
        b_bias,
    )


def _equals(outputs: Any, expected: Array) -> bool:
    try:
        numbers = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return numbers.shape == expected.shape and bool(np.allclose(numbers, expected, rtol=1e-6, atol=1e-8))


def _compare_outputs(results: Sequence[Any], operands: Sequence[Array], size: int, talked: bool) -> None:
    """Whether all ranks have the outputs of the layer in one process. Raises Hint."""
    expected = expected_outputs(*operands)
    if all(_equals(outputs, expected) for outputs in results):
        if not talked:
            raise Hint("The outputs are right, but each rank computed all of the layer; divide the matrices.")
        return
    if _equals(results[0], expected) and all(outputs is None for outputs in results[1:]):
        raise Hint("Only rank 0 has the outputs; the next layer needs them on all ranks, so use an all-reduce.")
    for outputs, hint in _wrong_outputs(operands, size):
        if all(_equals(*pair) for pair in zip(results, outputs, strict=True)):
            raise Hint(hint)
    shape = np.shape(results[0]) if isinstance(results[0], np.ndarray) else type(results[0]).__name__
    if shape != expected.shape:
        raise Hint(f"Each rank should return an array of the shape {expected.shape}; yours returns {shape}.")
    if any(not _equals(outputs, np.asarray(results[0])) for outputs in results[1:]):
        raise Hint(f"On {size} ranks the outputs differ from rank to rank; all should have the sum of all products.")
    raise Hint(
        f"On {size} ranks the outputs are not those of the layer in one process: relu(x @ a + a_bias) @ b + b_bias."
    )


def _wrong_outputs(operands: Sequence[Array], size: int) -> Iterator[tuple[list[Array], str]]:
    """The outputs of all ranks for typical mistakes, with their hints."""
    x, a, a_bias, b, b_bias = operands
    partial = [_partial(operands, rank, size) for rank in range(size)]
    total, width = sum(partial[1:], partial[0]), len(b) // size
    blocks = [slice(rank * width, (rank + 1) * width) for rank in range(size)]
    alone = "Each rank has only the product of its own blocks: add up the products of all ranks with an all-reduce."
    yield [part + b_bias for part in partial], alone
    yield partial, alone
    yield (
        [total + size * b_bias] * size,
        f"The bias of the rows is in the outputs {size} times: each rank added it before the sum. Add it once, after "
        "the all-reduce.",
    )
    yield [total] * size, "The bias of the rows, `b_bias`, is missing: add it after the all-reduce."
    average = f"Your outputs are divided by {size}: the ranks' products have to be added up, not averaged."
    yield [total / size + b_bias] * size, average
    yield [(total + size * b_bias) / size] * size, average
    yield [total / size] * size, average
    yield (
        [size * partial[0] + b_bias] * size,
        "All ranks computed with block 0: the block should depend on the rank.",
    )
    yield [_relu(total + b_bias)] * size, "ReLU belongs between the two matrices, and not behind the second one."
    linear = (x @ a + a_bias) @ b
    yield [linear + b_bias] * size, "ReLU is missing between the two matrices."
    without = sum((_relu(x @ a[:, block]) @ b[block] for block in blocks), np.zeros_like(total))
    yield (
        [without + b_bias] * size,
        "The bias of the columns, `a_bias`, is missing: add this rank's block of it before ReLU.",
    )
    if size <= WIDTH:
        inputs = np.array_split(np.arange(WIDTH), size)
        rows = [_relu(x[:, block] @ a[block] + a_bias) @ b for block in inputs]
        yield (
            [sum(rows[1:], rows[0]) + b_bias] * size,
            "You cut the rows of `a` first. ReLU then sees parts of sums, and relu(p) + relu(q) is not relu(p + q). "
            "Cut the columns of `a`.",
        )
    yield (
        [size * total + b_bias] * size,
        f"Your outputs are {size} times too large before the bias: each rank computed the full product before the sum.",
    )


# Exercise 3 (extra)


def expected_most(layers: int, segments: int) -> int:
    """The inputs of all segments, and the outputs of the longest segment."""
    return segments + -(-layers // segments)


@exercise(
    "most_outputs",
    hint="The longest segment has `layers / segments` layers, rounded up. Add an input for each segment.",
    reason=(
        "The inputs of all segments stay in memory until the backward pass, and one segment at a time has all of its "
        "outputs. k + n / k is smallest at k = sqrt(n), so the memory grows with the square root of the layers."
    ),
)
def most_outputs(function: Callable[..., Any]) -> None:
    """With segments of equal length, then with a longest one."""
    for layers, segments in ((48, 4), (48, 1), (48, 48), (16, 8), (10, 4), (7, 3), (50, 7)):
        answer, text = called("most_outputs", function, layers, segments), call("most_outputs", layers, segments)
        if isinstance(answer, bool) or not isinstance(answer, int | float | np.number):
            raise Hint(f"{text} is {answer!r:.60}; it should be a number of outputs.")
        right = expected_most(layers, segments)
        if answer == right:
            continue
        start = f"{text} should be {right}, and yours is {answer:g}"
        if answer == -(-layers // segments):
            raise Hint(f"{start}: the inputs of the segments stay in memory, too.")
        if answer == segments:
            raise Hint(f"{start}: the segment that is computed again needs room for its outputs.")
        if answer in (segments + layers // segments, segments + layers / segments):
            raise Hint(f"{start}: the segments don't all have the same length; count the longest segment.")
        if answer == layers + segments:
            raise Hint(f"{start}: only one segment at a time is computed again, and the others are not in memory.")
        if answer == layers:
            raise Hint(f"{start}: that is the memory without recomputation.")
        if answer in (segments * layers, segments * -(-layers // segments)):
            raise Hint(f"{start}: add the two parts, and don't multiply them.")
        if abs(answer - 2 * layers**0.5) < 1:
            raise Hint(f"{start}: 2 sqrt(n) is the smallest memory; asked for is the memory with these segments.")
        raise Hint(f"{start}: an input for each segment, and the outputs of the longest segment.")
