"""Checks of lab 13: the rest of an epoch among survivors, a checkpoint plan, and batches that don't come out even."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import call, called, confirmed, is_empty, rehearsed

# Exercise 1


def _cases() -> Iterator[tuple[list[int], int, list[int]]]:
    """Orders of an epoch, read examples and survivors: small ones first, then drawn ones."""
    yield [6, 2, 9, 4, 7, 0, 3, 8, 1, 5], 4, [0, 1, 3]
    yield [6, 2, 9, 4, 7, 0, 3, 8, 1, 5], 3, [0, 1, 3]
    yield [6, 2, 9, 4, 7], 0, [1, 2]
    yield [3, 1, 4, 0, 2], 3, [0, 2, 5]
    yield [2, 0, 1], 3, [0, 3]
    stream = np.random.default_rng(14)
    for _ in range(40):
        count, size = int(stream.integers(1, 60)), int(stream.integers(2, 9))
        survivors = sorted(stream.choice(size, int(stream.integers(1, size)), replace=False).tolist())
        yield stream.permutation(count).tolist(), int(stream.integers(0, count + 1)), survivors


@exercise(
    "divide_rest",
    hint=(
        "`rest = order[done:]` has what wasn't read. The survivor at place p of `ranks` gets `rest[p :: len(ranks)]`."
    ),
    reason=(
        "Every len(ranks)-th example, from another start for each place, puts each example into one list. The place in "
        "`ranks` counts, because the numbers of the survivors have gaps."
    ),
)
def divide_rest(function: Callable[..., Any]) -> None:
    """Cases with a remainder, with fewer examples than ranks, with none, and drawn ones."""
    for order, done, ranks in _cases():
        answer = called("divide_rest", function, list(order), done, list(ranks))
        text = call("divide_rest", order, done, ranks)
        _compare_ranks(answer, ranks, text)
        parts = {rank: _examples(answer[rank], rank, text) for rank in ranks}
        _compare_parts(parts, order, done, text)


def _compare_ranks(answer: Any, ranks: Sequence[int], text: str) -> None:
    """Whether the answer has a part for each survivor and for nobody else. Raises Hint."""
    if not isinstance(answer, Mapping):
        raise Hint(f"{text} is {answer!r:.60}; it should be a dict with a list for each survivor.")
    if set(answer) == set(ranks):
        return
    if set(answer) == set(range(len(ranks))):
        raise Hint(f"{text} has the keys {sorted(answer)}; use the numbers of the survivors, {list(ranks)}.")
    if missing := [rank for rank in ranks if rank not in answer]:
        raise Hint(f"{text} has no list for rank {missing[0]}; a survivor without examples has an empty list.")
    extra = next(rank for rank in answer if rank not in ranks)
    raise Hint(f"{text} has a list for rank {extra!r}, which is no survivor; its examples would be left out.")


def _examples(part: Any, rank: int, text: str) -> list[int]:
    """A survivor's examples. Raises Hint."""
    try:
        return [int(example) for example in part]
    except (TypeError, ValueError):
        raise Hint(f"In {text}, the part of rank {rank} is {part!r:.40}; it should be a list of examples.") from None


def _compare_parts(parts: Mapping[int, list[int]], order: Sequence[int], done: int, text: str) -> None:
    """Whether each example that wasn't read is in one part, and the parts are alike in length. Raises Hint."""
    read, rest = set(order[:done]), list(order[done:])
    counts = Counter(example for part in parts.values() for example in part)
    if sorted(counts.elements()) == list(range(done, len(order))) != sorted(rest):
        raise Hint(f"{text} has places in the order; the lists should have the examples: order[place].")
    for example in counts:
        if example in read:
            raise Hint(f"In {text}, example {example} was read before the loss; begin at order[{done}].")
        if example not in rest:
            raise Hint(f"In {text}, there is no example {example} in the order.")
    double = [example for example, count in counts.items() if count > 1]
    if double:
        owners = sorted(rank for rank, part in parts.items() if double[0] in part)
        raise Hint(f"In {text}, example {double[0]} is read twice, by {_ranks(owners)}; each belongs to one list.")
    missing = [example for example in rest if example not in counts]
    if missing and len(missing) < len(parts) and missing == rest[-len(missing) :]:
        raise Hint(f"In {text}, the last examples are left out: {missing}. The division has a remainder.")
    if missing:
        raise Hint(
            f"In {text}, {len(missing)} of {len(rest)} examples are left out, such as {missing[0]}. Divide by the "
            "number of survivors, and use the place of a survivor in `ranks`."
        )
    lengths = [len(part) for part in parts.values()]
    if max(lengths) - min(lengths) > 1:
        raise Hint(f"In {text}, the lists have the lengths {lengths}; they should differ by one at most.")


def _ranks(owners: Sequence[int]) -> str:
    return f"ranks {' and '.join(map(str, owners))}" if len(owners) > 1 else f"rank {owners[0]}"


# Exercise 2

CLOSE = 1e-6  # relative


def expected_plan(cost: float, mtbf: float) -> tuple[float, float]:
    """Young's interval in seconds, and the share that is lost with it."""
    interval = math.sqrt(2 * cost * mtbf)
    return interval, _lost(interval, cost, mtbf)


def _lost(interval: float, cost: float, mtbf: float) -> float:
    return cost / interval + interval / (2 * mtbf)


@exercise(
    "checkpoint_plan",
    hint="`interval = math.sqrt(2 * cost * mtbf)`, and the lost share is `cost / interval + interval / (2 * mtbf)`.",
    reason=(
        "The derivative of C / t + t / (2 M) by t is 0 where C / t^2 = 1 / (2 M). There, both parts are equal, so the "
        "lost share is sqrt(2 C / M)."
    ),
)
def checkpoint_plan(function: Callable[..., Any]) -> None:
    """A large cost first, then costs of other sizes."""
    for cost, mtbf in ((8.0, 3600.0), (60.0, 11_135.0), (0.008, 3600.0), (120.0, 86_400.0)):
        answer, text = called("checkpoint_plan", function, cost, mtbf), call("checkpoint_plan", cost, mtbf)
        try:
            interval, lost = (float(number) for number in answer)
        except (TypeError, ValueError):
            raise Hint(f"{text} is {answer!r:.60}; it should be two numbers, the interval and the share.") from None
        right = expected_plan(cost, mtbf)
        _compare_number(f"The interval of {text}", interval, right[0], _wrong_intervals(cost, mtbf))
        _compare_number(f"The lost share of {text}", lost, right[1], _wrong_shares(right[0], cost, mtbf))


def _compare_number(name: str, number: float, right: float, wrong: Iterator[tuple[float, str]]) -> None:
    """Raises Hint."""
    if math.isclose(number, right, rel_tol=CLOSE):
        return
    for value, hint in wrong:
        if math.isclose(number, value, rel_tol=CLOSE):
            raise Hint(f"{name} should be {right:.4g}, and yours is {number:.4g}: {hint}")
    raise Hint(f"{name} should be {right:.4g}, and yours is {number:.4g}.")


def _wrong_intervals(cost: float, mtbf: float) -> Iterator[tuple[float, str]]:
    yield _lost(expected_plan(cost, mtbf)[0], cost, mtbf), "return the interval first, and then the share."
    yield math.sqrt(cost * mtbf), "the factor 2 is missing under the root."
    yield 2 * math.sqrt(cost * mtbf), "the factor 2 belongs under the root."
    yield 2 * cost * mtbf, "the root is missing."
    yield math.sqrt(2 * mtbf / cost), "multiply by the cost: a checkpoint that costs more is written more rarely."
    yield math.sqrt(cost * mtbf / 2), "multiply by 2 under the root; a failure loses half an interval."
    yield mtbf / 2, "that has nothing of the cost; a cheap checkpoint should come more often."


def _wrong_shares(interval: float, cost: float, mtbf: float) -> Iterator[tuple[float, str]]:
    # At Young's interval both parts are equal, so a part alone can be either of them.
    yield cost / interval, "that is one of the two parts. Add the checkpoints and the repeated work."
    yield cost / interval + interval / mtbf, "a failure loses half of an interval on average, and not all of it."
    yield cost + interval / 2, "that is in seconds. Divide the cost by the interval, and half an interval by the MTBF."
    yield 100 * _lost(interval, cost, mtbf), "return a share, such as 0.07, and not per cent."
    yield 1 - _lost(interval, cost, mtbf), "that is the useful share; return the lost share."
    yield (cost + interval / 2) / mtbf, "checkpoints come once in an interval, so divide their cost by the interval."
    yield cost * interval / (2 * mtbf) / interval, "add the two parts, and don't multiply them."


# Exercise 3 (extra)

Batches = Sequence[Sequence[float]]  # of a rank

# Of each rank: its batches.
CASES: tuple[tuple[Batches, ...], ...] = (
    ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 9.0]]),
    ([[1.0, 2.0], [3.0, 8.0]], [[5.0, 6.0]]),
    ([[1.0, 2.0], [4.0]], [[6.0, 9.0], [3.0, 5.0, 9.0]]),
    ([], [[2.0, 4.0], [6.0]]),
    ([[1.0], [2.0], [3.0]], [[4.0, 6.0]], []),
    ([], []),
)


def expected_means(batches: Sequence[Batches]) -> list[float]:
    """The mean of all losses of all ranks, for each step."""
    steps = max(map(len, batches))
    losses = [[loss for own in batches for loss in (own[step] if step < len(own) else ())] for step in range(steps)]
    return [sum(step) / len(step) for step in losses]


@exercise(
    "step_means",
    ranks=True,
    hint=(
        "`max(comm.allgather(len(batches)))` is the same number of steps on all ranks. A rank without a batch takes "
        "`[]`."
    ),
    reason=(
        "All ranks agree on the number of steps first, so all make the same calls. A rank without a batch adds 0 to "
        "the sum and 0 to the count."
    ),
)
def step_means(comm: Any, function: Callable[..., Any]) -> None:
    """Equal batches first, then ranks with fewer of them, and ranks with none."""
    for batches in CASES:
        counts = ", ".join(str(len(own)) for own in batches)
        where = f"with batches of the numbers {counts}"
        advice = "How many times does each rank make the calls? All ranks need the same number of steps."
        rehearsal = rehearsed(function, [(own,) for own in batches], where, advice)
        if not any(rehearsal.calls) and all(map(is_empty, rehearsal.results)):
            raise Hint("Nothing is there yet: step_means should return a list on every rank.")
        _compare_means(rehearsal.results, batches, f"On {len(batches)} ranks {where}")
    own_batches = [[[float(rank + step)] for step in range(rank + 1)] for rank in range(comm.Get_size())]
    right = expected_means(own_batches)
    confirmed(comm, function, (own_batches[comm.Get_rank()],), lambda answer: _equals(answer, right))


def _equals(answer: Any, right: Sequence[float]) -> bool:
    try:
        numbers = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return numbers.shape == (len(right),) and bool(np.allclose(numbers, right, rtol=CLOSE))


def _compare_means(results: Sequence[Any], batches: Sequence[Batches], where: str) -> None:
    """Whether every rank has the mean of each step. Raises Hint."""
    right = expected_means(batches)
    if all(_equals(result, right) for result in results):
        return
    if any(not isinstance(result, list | tuple | np.ndarray) for result in results):
        raise Hint(f"{where}, every rank should return a list of means.")
    start = f"{where}, the means should be {right}"
    most, fewest = max(map(len, batches)), min(map(len, batches))
    if all(len(result) == fewest < most for result in results):
        raise Hint(f"{start}; yours end after {fewest}. Batches of the other ranks are left out.")
    if any(len(result) != most for result in results):
        raise Hint(f"{start}; every rank should have {most} of them, also a rank with fewer batches.")
    for wrong, hint in _wrong_means(batches):
        if all(_equals(*pair) for pair in zip(results, wrong, strict=True)):
            raise Hint(f"{start}: {hint}")
    raise Hint(f"{start}, and rank 0 has {list(results[0])!r:.80}.")


def _wrong_means(batches: Sequence[Batches]) -> Iterator[tuple[list[list[float]], str]]:
    """The results of all ranks for typical mistakes, with their hints."""
    size, steps = len(batches), max(map(len, batches))
    padded = [[*own, *[own[-1]] * (steps - len(own))] if own else [[]] * steps for own in batches]
    again = [[loss for own in padded for loss in own[step]] for step in range(steps)]
    yield [[sum(step) / len(step) for step in again]] * size, "a rank without a batch reads its last batch again."
    own_means = [[sum(own[step]) / max(len(own[step]), 1) if step < len(own) else 0.0 for step in range(steps)]
                 for own in batches]  # fmt: skip
    yield own_means, "those are the means of each rank alone."
    yield (
        [[sum(own[step] for own in own_means) / size for step in range(steps)]] * size,
        "that is the mean of the ranks' means. Add up the losses and their numbers before you divide.",
    )
    holders = [[own for own, rank in zip(own_means, batches, strict=True) if step < len(rank)] for step in range(steps)]
    yield (
        [[sum(own[step] for own in holders[step]) / len(holders[step]) for step in range(steps)]] * size,
        "that is the mean of the ranks' means. Add up the losses and their numbers before you divide.",
    )
    totals = [sum(sum(own[step]) for own in batches if step < len(own)) for step in range(steps)]
    yield [totals] * size, "divide the sum of the losses by their number."
