"""Checks of lab 0: each tries the learner's function on several inputs, and tells a mistake by what it does."""

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
    """On this rank, then in made-up worlds of one to five ranks. Nothing in it needs other ranks."""
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
            f"whoami returned {answer!r}; it should be three numbers: rank, size and the neighbour on the right."
        )
    where = f"On rank {rank} of {size}"
    if found[:2] == (size, rank) and rank != size:
        raise Hint(f"{where} your first two numbers are {size} and {rank}: rank and size have changed places.")
    if found[0] != rank:
        if found[0] == rank + 1:
            raise Hint(f"{where} you say that the rank is {found[0]}; ranks are counted from 0.")
        raise Hint(f"{where} you say that the rank is {found[0]!r}; ask the communicator that you are given.")
    if found[1] != size:
        raise Hint(
            f"{where} you say that there are {found[1]!r} ranks; ask the communicator that you are given for its size."
        )
    if found[2] == (rank + 1) % size:
        return
    if found[2] == rank + 1 == size:
        raise Hint(
            f"{where} the neighbour on the right would be rank {size}, which isn't there; the ring goes on with rank 0."
        )
    if found[2] == (rank - 1) % size:
        raise Hint(f"{where} your neighbour is rank {found[2]}, which is the one on the left.")
    raise Hint(
        f"{where} your neighbour is rank {found[2]!r}; look again which number comes next, and what follows the last."
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
    """Every number needs one owner, and shares may differ by one; how they are cut is free."""
    for count, size in ((12, 3), (10, 3), (11, 4), (9, 2), (7, 1), (3, 5), (0, 2)):
        _shares(count, size, [_mine(given, count, rank, size) for rank in range(size)])


def _mine(given: Any, count: int, rank: int, size: int) -> list[int]:
    answer, made = called("mine", given, count, rank, size), call("mine", count, rank, size)
    if isinstance(answer, int | float | np.number):
        raise Hint(f"{made} is {answer!r}, a single number; it should be all numbers that this rank owns.")
    try:
        numbers = list(answer)
    except TypeError:
        raise Hint(f"{made} is a {type(answer).__name__}; it should be a list or a range of numbers.") from None
    if any(isinstance(number, bool) or not isinstance(number, int | np.integer) for number in numbers):
        raise Hint(f"{made} holds something else than whole numbers: {numbers[:3]!r}.")
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
                beyond = f"{what}, rank {rank} owns number {number}, which isn't there"
    if beyond and count and not owners[0]:
        raise Hint(f"{beyond}, and nobody owns number 0; pieces and ranks are both counted from 0.")
    if beyond:
        raise Hint(f"{beyond}; the last piece of all is number count - 1.")
    if size > 1 and count and all(sorted(share) == list(range(count)) for share in shares):
        raise Hint(f"{what}, every rank owns all of them; each should take its own part only.")
    if size > 1 and count >= size and all(list(share) == list(shares[0]) for share in shares):
        raise Hint(f"{what}, all ranks own the same numbers; where does the rank come in?")
    shared = [number for number, who in owners.items() if len(who) > 1]
    if shared:
        who = owners[shared[0]]
        raise Hint(f"{what}, number {shared[0]} has more than one owner, ranks {who[0]} and {who[1]}.")
    nobodys = [number for number, who in owners.items() if not who]
    if nobodys and nobodys[-1] == count - 1 and len(nobodys) < size:
        raise Hint(
            f"{what}, nobody owns number {nobodys[-1]}; what is left over from the division, the remainder, needs an "
            "owner, too."
        )
    if nobodys:
        raise Hint(f"{what}, nobody owns number {nobodys[0]}.")
    sizes = [len(share) for share in shares]
    if max(sizes) - min(sizes) > 1:
        raise Hint(
            f"{what}, the shares have {', '.join(map(str, sizes))} pieces; they may differ by one at most, or the "
            "others wait for the largest."
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
                raise Hint("Nothing is there yet: add up this rank's squares, and then those of all ranks.")
            _squares(count, size, found.results, any(found.calls))
    confirmed(comm, given, (10,), lambda answer: answer == 285)


def _squares(count: int, size: int, answers: Sequence[Any], talked: bool) -> None:
    """Whether that is the sum, and how it came. Raises Hint."""
    right = sum(number**2 for number in range(count))
    if all(answer == right for answer in answers):
        if not talked:
            raise Hint(
                "The sum is right, but every rank has squared all numbers by itself; share them out and add up parts."
            )
        return
    what = f"Of the squares of 0 to {count - 1}, whose sum is {right}, {size} ranks return {_listed(answers)}"
    if answers[0] == right and all(answer is None for answer in answers[1:]):
        raise Hint(f"{what}: only rank 0 has the sum; every rank should know it.")
    if not all(isinstance(answer, int | float | np.number) for answer in answers):
        raise Hint(f"{what}; each should return a number.")
    if all(answer == size * right for answer in answers):
        raise Hint(f"{what}, {size} times too much: every number was squared on every rank, before they added up.")
    if all(answer == sum(range(count)) ** 2 for answer in answers):
        raise Hint(f"{what}, the square of the sum; square each number before you add.")
    if all(answer == sum(range(count)) for answer in answers):
        raise Hint(f"{what}, the sum of the numbers themselves; they should be squared.")
    if sum(answers) == right:
        raise Hint(f"{what}: each has the part of its own only, and nobody has added the parts up.")
    if any(answer != answers[0] for answer in answers):
        raise Hint(f"{what}; all of them should have the same sum.")
    if answers[0] == right + count**2:
        raise Hint(f"{what}: number {count} was counted as well; the last one is {count - 1}.")
    if answers[0] < right:
        raise Hint(f"{what}, which is too little: some numbers have no owner; which ones, on {size} ranks?")
    raise Hint(f"{what}, which is too much: some numbers have more than one owner, or some aren't among them.")


def _listed(answers: Sequence[Any]) -> str:
    return ", ".join(str(answer) for answer in answers[:6]) + (", …" if len(answers) > 6 else "")
