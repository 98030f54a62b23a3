"""Checks of lab 8: causes by their symptoms, a function that waited for ever, a placement with too many threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import confirmed, is_empty, rehearsed
from workshop.mpi import mapper

# Exercise 1.

ANSWERS = {
    "A": "a slow rank",
    "B": "no shards",
    "C": "steps not divided",
    "D": "more threads than cores",
    "E": "mismatched collectives",
    "F": "out of memory",
}
OTHERS = ("a slow network", "no broadcast", "two ranks on one core", "an exception")
# By case and wrong answer; "" is for any other one.
HINTS: Mapping[str, Mapping[str, str]] = {
    "A": {
        "a slow network": "all leave 1 ms after the last one has come, so the exchange itself takes hardly any time. "
        "Who comes last?",
        "two ranks on one core": "two that share a core would both be late; count who is.",
        "": "take differences in a column: how late is each rank, and how long does the exchange take after that?",
    },
    "B": {
        "steps not divided": "1,440 images in an epoch are as many as there should be, so the steps are divided. How "
        "many of them are different?",
        "no broadcast": "a missing broadcast shows in the weights; this is about what was read.",
        "": "each image that was read at all was read four times, by four ranks.",
    },
    "C": {
        "no shards": "it says nothing of which images were read, only of how many steps there were.",
        "a slow rank": "it isn't that steps take longer: there are more of them than there should be.",
        "": "compare the two numbers of steps: what should four ranks have done with them?",
    },
    "D": {
        "two ranks on one core": "every rank has a core that no other one may use. What is in the last column?",
        "a slow rank": "all four ranks have the same, so none is slower than another. What is in the last column?",
        "": "what may run on a core at a time, and how many want to?",
    },
    "E": {
        "a slow rank": "a slow rank would get there some time; these two wait for each other.",
        "a slow network": "two calls that never meet don't wait for the network. Do both ranks stand in the same call?",
        "no broadcast": "there is one: rank 0 stands in it. Where does rank 1 stand?",
        "an exception": "both processes are alive, and none of them has said anything.",
        "": "do both ranks stand in the same call?",
    },
    "F": {
        "an exception": "an exception leaves a traceback, and no signal. What had the host a minute before?",
        "": "who sends signal 9 when nobody has typed it, and what had the host a minute before?",
    },
}


@exercise(
    "cause",
    hint=(
        "Look for the number or the line that can't be right: who comes last in A, how many images differ in "
        "B, how many steps there are in C, threads per core in D, two lines in E, memory in F."
    ),
    reason=(
        "Each case shows one trace: the time of arrival, a count of images or steps, threads against cores, "
        "the line of each rank, and a signal beside free memory."
    ),
)
def cause(given: Any) -> None:
    if not isinstance(given, Mapping):
        raise Hint(f'cause should be a dict like {{"A": "a slow rank"}}; yours is {type(given).__name__}.')
    if not given:
        raise Hint("Nothing is there yet: give cause a cause for each of the cases A to F.")
    known = (*ANSWERS.values(), *OTHERS)
    for case, said in given.items():
        if case not in ANSWERS:
            raise Hint(f"There is no case {case!r}; there are A to F.")
        if said not in known:
            raise Hint(f"Case {case}: {said!r} is none of CAUSES; copy one of them.")
    for case, right in ANSWERS.items():
        if case in given and given[case] != right:
            hints = HINTS[case]
            raise Hint(f"Case {case}: {hints.get(given[case], hints[''])}")
    if missing := [case for case in ANSWERS if case not in given]:
        raise Hint(f"So far all is right; {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} still missing.")


# Exercise 2.

# Of each rank: how many of its images are read right, and how many it has.
SHARES = (
    ((90, 100), (40, 80)),
    ((90, 100), (0, 0)),
    ((0, 0), (7, 10), (1, 50)),
    ((0, 0), (0, 0)),
)
CONDITION = "Which condition makes the ranks call different collectives, or not as many?"


@exercise(
    "accuracy",
    ranks=True,
    hint=(
        "Both all-reduces have to be called on every rank, before any return. Only `print` may stand behind "
        "the condition on the rank."
    ),
    reason=(
        "All ranks call the same two collectives, whatever `images` is. The division happens after them, from"
        " numbers that are the same on all ranks."
    ),
)
def accuracy(comm: Any, given: Callable[..., Any]) -> None:
    mine = tuple((5 * rank, 10 * rank) for rank in range(comm.size))  # rank 0 has none
    for shares in SHARES:
        images = [count for _, count in shares]
        try:
            found = rehearsed(given, shares, f"with {_listed(images)} images", CONDITION)
        except ZeroDivisionError:
            raise Hint(f"Where the ranks have {_listed(images)} images, something is divided by 0.") from None
        if not any(found.calls) and all(map(is_empty, found.results)):
            raise Hint("Nothing is there yet: accuracy should return a number on every rank.")
        _judge(found.results, shares)
    confirmed(comm, given, mine[comm.rank], lambda result: _near(result, _accuracy(mine)))


def _near(result: Any, wanted: float) -> bool:
    return isinstance(result, int | float | np.number) and math.isclose(result, wanted, abs_tol=1e-9)


def _accuracy(shares: Sequence[tuple[int, int]]) -> float:
    images = sum(count for _, count in shares)
    return sum(right for right, _ in shares) / images if images else 0.0


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _judge(results: Sequence[Any], shares: Sequence[tuple[int, int]]) -> None:
    """Whether that is what every rank should get. Raises Hint."""
    images = [count for _, count in shares]
    where = f"Where the ranks have {_listed(images)} images"
    wanted = _accuracy(shares)
    without = [rank for rank, result in enumerate(results) if result is None]
    if without:
        raise Hint(f"{where}, rank {without[0]} returns nothing: every rank should have the result, not rank 0 alone.")
    if any(not isinstance(result, int | float | np.number) for result in results):
        raise Hint(f"accuracy should return a number, and returned {type(results[0]).__name__}.")
    if all(_near(result, wanted) for result in results):
        return
    own = [right / count if count else 0.0 for right, count in shares]
    if all(_near(*pair) for pair in zip(results, own, strict=True)):
        raise Hint(f"{where}, each rank returns the share of its own images: those of all ranks should count.")
    if all(_near(result, sum(own) / len(own)) for result in results):
        raise Hint(
            f"{where}, that is the mean of the ranks' shares: a rank with few images counts for as much as one with "
            "many. Add up both numbers before you divide."
        )
    total = sum(right for right, _ in shares)
    pairs = list(zip(results, images, strict=True))
    if any(count and _near(result, total / count) for result, count in pairs):
        raise Hint(f"{where}, the right answers of all ranks are divided by one rank's own images.")
    raise Hint(f"{where}, the share should be {wanted:.4f} on every rank; yours are {', '.join(map(str, results))}.")


# Exercise 3.

CROWDED = {
    "ranks": 8,
    "threads": 4,
    "map_by": "package",
    "cores_per_rank": 1,
    "bind_to": "none",
    "oversubscribe": True,
}
CORES, SOCKET = 8, 4  # of the host, of each of its sockets
MACHINE = "2x4"  # the same host in words


@exercise(
    "mended",
    hint=("Each rank needs 4 cores of its own, and the host has 8. How many ranks fit? Then bind them."),
    reason=(
        "Two ranks of four cores fill both sockets, and the binding keeps each rank's threads there. Nothing "
        "is oversubscribed, so that field is false."
    ),
)
def mended(given: Any) -> None:
    if not isinstance(given, Mapping):
        raise Hint(f"mended should be a dict like crowded; yours is {type(given).__name__}.")
    if dict(given) == CROWDED:
        raise Hint("Nothing is there yet: mended is still the placement that has to be mended.")
    for name in given:
        if name not in CROWDED:
            raise Hint(f"{name!r} isn't needed here: change what crowded has.")
    for name in CROWDED:
        if name not in given:
            raise Hint(f"{name!r} is missing: take all that crowded has, and change some of it.")
    counts = {name: given[name] for name in ("ranks", "threads", "cores_per_rank")}
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Hint(f"{name} should be a whole number from 1; yours is {value!r}.")
    ranks, threads, cores = counts.values()
    if threads != CROWDED["threads"]:
        raise Hint("The program keeps its 4 threads in each rank: change something else.")
    if given["map_by"] != CROWDED["map_by"]:
        raise Hint("Leave map_by as it is: a rank after the other on each socket is what is wanted here.")
    if ranks * threads > CORES:
        raise Hint(
            f"{ranks} ranks × {threads} threads make {ranks * threads} threads on {CORES} cores: too many ranks."
        )
    if ranks * threads < CORES:
        raise Hint(f"{ranks} rank × {threads} threads leaves {CORES - ranks * threads} of the {CORES} cores idle.")
    if given["bind_to"] == "none":
        raise Hint(
            "Nothing keeps a rank on its cores yet: unbound, all threads may run anywhere, also two on one core."
        )
    if cores < threads and given["bind_to"] in ("core", "auto"):
        own = f"{cores} core{'s' if cores > 1 else ''}"
        raise Hint(f"Each rank owns {own}, on which its {threads} threads take turns: how many cores should it own?")
    if cores > SOCKET:
        raise Hint(f"A rank that owns {cores} cores doesn't fit a socket of {SOCKET}.")
    _ask_mapper(given)


def _ask_mapper(given: Mapping[str, Any]) -> None:
    """Whether every rank has a core for each of its threads that no other rank may use. Raises Hint."""
    try:
        placement = Placement.parse(dict(given))
    except BadInput as error:
        raise Hint(f"That is no placement: {error}") from error
    prediction = mapper.predict(placement, machines.read(MACHINE))
    if prediction.rank_map is None:
        raise Hint(f"The mapper refuses it on {MACHINE}, in its words: {prediction.refused or prediction.note}")
    owners: dict[int, int] = {}
    for report in prediction.rank_map["ranks"]:
        rank, own = report["rank"], report["cores"]
        if len(own) < placement.threads_per_rank:
            raise Hint(
                f"Rank {rank} may use {len(own)} of the cores, and its {placement.threads_per_rank} threads take turns "
                "on them: how many cores should it own?"
            )
        for core in own:
            if core in owners:
                raise Hint(
                    f"Core {core} belongs to rank {owners[core]} and to rank {rank}: each needs cores of its own."
                )
            owners[core] = rank
