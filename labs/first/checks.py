"""Checks of lab 0: each tries the learner's function on several inputs, and recognises a mistake by its results."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import call, called, confirmed, is_empty, rehearsed, worlds

# Exercise 1: who am I


@exercise(
    "whoami",
    ranks=True,
    hint=(
        "Two calls of the communicator give two of the numbers. For the third, think of the last rank: the "
        "remainder of a division by the size turns size into 0."
    ),
    reason=("The neighbour on the right is rank + 1, and `% size` closes the ring: the last rank gets 0."),
)
def whoami(comm: Any, given: Any) -> None:
    """On this rank, then with imagined communicators of one to five ranks. It needs no other ranks."""
    _whoami(given, comm, comm.Get_rank(), comm.Get_size())
    for size in (3, 1, 5, 2, 4):
        for rank in range(size):
            _whoami(given, _world(rank, size), rank, size)


def _world(rank: int, size: int) -> Any:
    """A communicator that knows its rank and size, and nothing else."""
    return SimpleNamespace(rank=rank, size=size, Get_rank=lambda: rank, Get_size=lambda: size)


def _whoami(given: Any, comm: Any, rank: int, size: int) -> None:
    answer = called("whoami", given, comm)
    try:
        found = tuple(answer)
    except TypeError:
        found = ()
    if len(found) != 3:
        raise Hint(
            f"whoami returned {answer!r}; it should return three numbers: rank, size and the neighbour on the right."
        )
    where = f"On rank {rank} of {size}"
    if found[:2] == (size, rank) and rank != size:
        raise Hint(f"{where} your first two numbers are {size} and {rank}: rank and size have changed places.")
    if found[0] != rank:
        if found[0] == rank + 1:
            raise Hint(f"{where} your rank is {found[0]}; ranks are counted from 0.")
        raise Hint(f"{where} your rank is {found[0]!r}; ask the communicator that you are given for the rank.")
    if found[1] != size:
        raise Hint(f"{where} your size is {found[1]!r}; ask the communicator that you are given for its size.")
    if found[2] == (rank + 1) % size:
        return
    if found[2] == rank + 1 == size:
        raise Hint(f"{where} your neighbour is rank {size}, but there is no such rank; the ring goes on with rank 0.")
    if found[2] == (rank - 1) % size:
        raise Hint(f"{where} your neighbour is rank {found[2]}, the neighbour on the left.")
    raise Hint(
        f"{where} your neighbour is rank {found[2]!r}; the right neighbour has the next number, and rank 0 follows the "
        "last rank."
    )


# Exercise 2: share out the work


@exercise(
    "mine",
    hint=(
        "Write the owners of 10 pieces on 3 ranks on paper. `range(start, stop, step)` can take every size-th"
        " number, beginning with the rank."
    ),
    reason=(
        "`range(rank, count, size)` deals the pieces out like cards. Every number has one remainder modulo "
        "size, so it has one owner."
    ),
)
def mine(given: Any) -> None:
    """Every number needs one owner, and shares may differ by one. Cards and blocks are both right."""
    for count, size in ((12, 3), (10, 3), (11, 4), (9, 2), (7, 1), (3, 5), (0, 2)):
        _shares(count, size, [_mine(given, count, rank, size) for rank in range(size)])


def _mine(given: Any, count: int, rank: int, size: int) -> list[int]:
    answer, made = called("mine", given, count, rank, size), call("mine", count, rank, size)
    if isinstance(answer, int | float | np.number):
        raise Hint(f"{made} is {answer!r}, a single number; it should be a list of all numbers that this rank owns.")
    try:
        numbers = list(answer)
    except TypeError:
        raise Hint(f"{made} is a {type(answer).__name__}; it should be a list or a range of numbers.") from None
    if any(isinstance(number, bool) or not isinstance(number, int | np.integer) for number in numbers):
        raise Hint(f"{made} has values that are not whole numbers: {numbers[:3]!r}.")
    return numbers


def _shares(count: int, size: int, shares: Sequence[Sequence[int]]) -> None:
    what = f"With {count} pieces on {size} ranks"
    owners: dict[int, list[int]] = {number: [] for number in range(count)}
    beyond = None
    for rank, share in enumerate(shares):
        for number in share:
            if number in owners:
                owners[number].append(rank)
            elif beyond is None:
                beyond = f"{what}, rank {rank} owns number {number}, which doesn't exist"
    if beyond and count and not owners[0]:
        raise Hint(f"{beyond}, and no rank owns number 0; pieces and ranks are both counted from 0.")
    if beyond:
        raise Hint(f"{beyond}; the last piece has the number count - 1.")
    if size > 1 and count and all(sorted(share) == list(range(count)) for share in shares):
        raise Hint(f"{what}, every rank owns all numbers; each rank should own only its part.")
    if size > 1 and count >= size and all(list(share) == list(shares[0]) for share in shares):
        raise Hint(f"{what}, all ranks own the same numbers; the share should depend on the rank.")
    shared = [number for number, who in owners.items() if len(who) > 1]
    if shared:
        who = owners[shared[0]]
        raise Hint(f"{what}, number {shared[0]} has more than one owner, ranks {who[0]} and {who[1]}.")
    ownerless = [number for number, who in owners.items() if not who]
    if ownerless and ownerless[-1] == count - 1 and len(ownerless) < size:
        raise Hint(
            f"{what}, no rank owns number {ownerless[-1]}; the remainder, the pieces that the division leaves over, "
            "needs owners, too."
        )
    if ownerless:
        raise Hint(f"{what}, no rank owns number {ownerless[0]}.")
    sizes = [len(share) for share in shares]
    if max(sizes) - min(sizes) > 1:
        raise Hint(
            f"{what}, the shares have {', '.join(map(str, sizes))} pieces; they may differ by one at most. "
            "Otherwise the other ranks wait for the largest share."
        )


# Exercise 3: one sum of all parts


@exercise(
    "squares",
    ranks=True,
    hint=(
        "First compute the sum of your own squares, with `range(rank, count, size)`. Then all ranks call one "
        "all-reduce, outside of any condition."
    ),
    reason=("Each rank adds its own squares. The all-reduce adds the ranks' sums and gives the result to every rank."),
)
def squares(comm: Any, given: Any) -> None:
    """With more and fewer numbers than ranks."""
    for size in worlds(comm):
        for count in (10, 4 * size + 1, 1, 0):
            found = rehearsed(given, [(count,)] * size)
            if all(map(is_empty, found.results)):
                raise Hint("Nothing is there yet: add up this rank's squares, and then the sums of all ranks.")
            _squares(count, size, found.results, any(found.calls))
    confirmed(comm, given, (10,), lambda answer: answer == 285)


def _squares(count: int, size: int, answers: Sequence[Any], talked: bool) -> None:
    """Whether all answers are the sum, and whether the ranks shared the work. Raises Hint."""
    right = sum(number**2 for number in range(count))
    if all(answer == right for answer in answers):
        if not talked:
            raise Hint("The sum is right, but every rank squared all numbers; share them out, and add up the parts.")
        return
    what = f"The squares of 0 to {count - 1} add up to {right}, but {size} ranks return {_listed(answers)}"
    if answers[0] == right and all(answer is None for answer in answers[1:]):
        raise Hint(f"{what}: only rank 0 has the sum; every rank should know it.")
    if not all(isinstance(answer, int | float | np.number) for answer in answers):
        raise Hint(f"{what}; each rank should return a number.")
    if all(answer == size * right for answer in answers):
        raise Hint(f"{what}, {size} times too much: every rank squared every number before the ranks added up.")
    if all(answer == sum(range(count)) ** 2 for answer in answers):
        raise Hint(f"{what}, the square of the sum; square each number before you add.")
    if all(answer == sum(range(count)) for answer in answers):
        raise Hint(f"{what}, the sum of the numbers; square each number first.")
    if sum(answers) == right:
        raise Hint(f"{what}: each rank has only its own part, and no call added the parts up.")
    if any(answer != answers[0] for answer in answers):
        raise Hint(f"{what}; all ranks should have the same sum.")
    if answers[0] == right + count**2:
        raise Hint(f"{what}: number {count} was counted as well; the last number is {count - 1}.")
    if answers[0] < right:
        raise Hint(f"{what}, which is too little: some numbers have no owner on {size} ranks. Which ones?")
    raise Hint(f"{what}, which is too much: some numbers have more than one owner, or a number is above {count - 1}.")


def _listed(answers: Sequence[Any]) -> str:
    return ", ".join(str(answer) for answer in answers[:6]) + (", …" if len(answers) > 6 else "")
