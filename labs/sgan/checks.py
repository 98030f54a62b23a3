"""Checks of the exercises on tuning: each tries an answer on several inputs, and knows mistakes by their effects."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import called, is_empty

# Seconds of the parts of a training.
PROFILES = (
    {"input": 4.0, "compute": 12.0, "update": 2.0, "evaluate": 22.0},
    {"compute": 6.0, "wait": 1.5, "communicate": 0.5},
    {"wait": 30.0, "compute": 10.0},
)
# The cores of each rank by host, threads of a rank, and the ranks that lack cores.
MAPS: tuple[tuple[str, list[tuple[str, list[int]]], int, list[int]], ...] = (
    ("one rank with two threads on core 0", [("a", [0])], 2, [0]),
    ("one rank with two threads on cores 0 and 1", [("a", [0, 1])], 2, []),
    ("ranks 0 and 1 sharing core 1", [("a", [0, 1]), ("a", [1, 2]), ("a", [3, 4])], 2, [0, 1]),
    ("four ranks on a core each", [("a", [0]), ("a", [1]), ("a", [2]), ("a", [3])], 1, []),
    ("two hosts with a rank on cores 0 and 1 of each", [("a", [0, 1]), ("b", [0, 1])], 2, []),
    ("a rank with two cores beside one with one core", [("a", [0, 1]), ("a", [2])], 2, [1]),
)
# Cores, and images of a step.
SHARES = ((4, 64), (6, 48), (6, 64), (2, 64), (8, 24), (1, 64))
# Iterations, how often to evaluate, ranks.
TRAININGS = ((60, 15, 1), (60, 15, 4), (100, 15, 2), (30, 1, 2), (10, 15, 8))
PICTURES, EPOCHS, BATCH = 10, 4, 4  # of the loader's trial


def _near(one: Any, other: float) -> bool:
    try:
        return math.isclose(float(one), other, rel_tol=1e-3)
    except (TypeError, ValueError):
        return False


@exercise(
    "largest_part",
    hint=(
        "`max(profile, key=profile.get)` gives the name. The share is its seconds divided by the sum "
        "of all seconds, and "
        "the limit is 1 / (1 - share)."
    ),
    reason=(
        "If the part took no time, the rest would remain: 1 - share of the time. The speed-up is the whole divided by "
        "the rest (Amdahl's law)."
    ),
)
def largest_part(given: Any) -> None:
    """The part with the most seconds, its share, and the speed-up without it."""
    for profile in PROFILES:
        seconds = sum(profile.values())
        name = max(profile, key=lambda part: profile[part])
        share = profile[name] / seconds
        answer = called("largest_part", given, dict(profile))
        shown = ", ".join(f"{part} {value:g} s" for part, value in profile.items())
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise Hint(f"It should return three values, (name, share, limit); for {shown} this is {answer!r:.80}.")
        if answer[0] != name:
            raise Hint(f"For {shown} your largest part is {answer[0]!r:.40}. Which part has the most seconds?")
        _share(answer[1], profile[name], seconds, shown)
        _limit(answer[2], share, shown)


def _share(answer: Any, part: float, seconds: float, shown: str) -> None:
    if _near(answer, part / seconds):
        return
    if _near(answer, part):
        raise Hint(f"For {shown} your share is {answer:g}, a number of seconds. Divide it by the seconds of all parts.")
    if _near(answer, 100 * part / seconds):
        raise Hint(f"For {shown} your share is {answer:g}, in per cent. A share lies between 0 and 1.")
    if _near(answer, part / (seconds - part)):
        raise Hint(
            f"For {shown} your share compares the part with the others. Divide by all seconds, the part included."
        )
    raise Hint(f"For {shown} your share is {answer!r:.40}; it should be {part:g} of {seconds:g} s.")


def _limit(answer: Any, share: float, shown: str) -> None:
    if _near(answer, 1 / (1 - share)):
        return
    if _near(answer, 1 / share):
        raise Hint(f"For {shown} your limit is {answer:.3g}: that is the speed-up if only the largest part were left.")
    if _near(answer, 1 - share):
        raise Hint(
            f"For {shown} your limit is {answer:.3g}: that is the rest of the time. How many times as fast is it?"
        )
    raise Hint(f"For {shown} your limit is {answer!r:.40}. Without the part, {1 - share:.0%} of the time is left.")


@exercise(
    "starved",
    hint=(
        "Compare each rank with all others of the same host: do the sets of their cores overlap? "
        "Then compare the number "
        "of its own cores with `threads`."
    ),
    reason=(
        "Ranks that share a core take turns on it, and both lose. Threads of a rank take turns, too, "
        "if they have fewer "
        "cores. Cores of two hosts are different cores, even with the same number."
    ),
)
def starved(given: Any) -> None:
    """Ranks that share cores on a host, or have fewer cores than threads."""
    for words, places, threads, lacking in MAPS:
        ranks = [{"rank": number, "host": host, "cores": list(cores)} for number, (host, cores) in enumerate(places)]
        answer = called("starved", given, ranks, threads)
        if not isinstance(answer, Iterable) or isinstance(answer, str):
            raise Hint(f"It should return a list of ranks; for {words} it is {answer!r:.60}.")
        numbers = list(answer)
        if numbers == lacking:
            continue
        if any(not isinstance(number, int | np.integer) or isinstance(number, bool) for number in numbers):
            raise Hint(f"It should return a list of the ranks' numbers; for {words} it is {answer!r:.60}.")
        missed = [number for number in lacking if number not in numbers]
        if missed:
            few = len(ranks[missed[0]]["cores"]) < threads
            why = f"it has fewer cores than its {threads} threads" if few else "it shares a core with another rank"
            raise Hint(f"For {words}, rank {missed[0]} lacks cores and is not in your list {numbers}: {why}.")
        extra = [number for number in numbers if number not in lacking]
        if extra:
            hosts = " Cores of different hosts are different cores." if len({host for host, _ in places}) > 1 else ""
            raise Hint(f"For {words}, rank {extra[0]} is in your list {numbers} and has what it needs.{hosts}")
        raise Hint(f"For {words} your list is {numbers}: each rank should be there once, in order.")


@exercise(
    "share_out",
    hint=(
        "Go through the ranks from 1 to `cores`, and keep those that divide `batch` without a remainder. "
        "Threads are the cores divided by the ranks, rounded down."
    ),
    reason=(
        "All ways read the same images in a step, so their times can be compared. Rounding down keeps ranks x"
        " threads within the cores."
    ),
)
def share_out(given: Any) -> None:
    """All ways to share out cores among ranks that share the images of a step."""
    for cores, batch in SHARES:
        right = [(n, cores // n, batch // n) for n in range(1, cores + 1) if batch % n == 0]
        found = called("share_out", given, cores, batch)
        which = f"{cores} {'core' if cores == 1 else 'cores'} and a batch of {batch}"
        try:
            ways = [tuple(way) for way in found]
            if any(len(way) != 3 or any(value != int(value) for value in way) for way in ways):
                raise ValueError
        except (TypeError, ValueError):
            raise Hint(
                f"For {which} it should be a list of (ranks, threads, images of each rank), whole numbers; it is "
                f"{found!r:.80}."
            ) from None
        for ranks, threads, images in ways:
            if ranks < 1 or threads < 1:
                raise Hint(f"For {which}: {ranks} × {threads} has nobody to work. A rank has at least one thread.")
            if ranks * threads > cores:
                raise Hint(f"For {which}: {ranks} ranks × {threads} threads are more threads than cores.")
            if batch % ranks:
                raise Hint(f"For {which}: {ranks} ranks can't divide {batch} images among them, some would get more.")
            if images == batch and ranks > 1:
                raise Hint(f"For {which}: {ranks} ranks have {images} images each. They share the batch of a step.")
            if images * ranks != batch:
                raise Hint(f"For {which}: {ranks} ranks with {images} images each don't make a batch of {batch}.")
            if ranks * (threads + 1) <= cores:
                raise Hint(f"For {which}: {ranks} ranks × {threads} threads leave cores idle that they could use.")
        missing = [way for way in right if way not in ways]
        if missing:
            ranks, threads, _ = missing[0]
            raise Hint(
                f"For {which}: {ranks} × {threads} is missing. Ranks needn't divide the cores; what is left stays idle."
            )
        if ways != right:
            raise Hint(f"For {which}: all are there, but not once each and in order of ranks.")


@exercise(
    "batches",
    hint=(
        "Decode all pictures into one array before the loop over the epochs. In the loops, take rows "
        "of this array by the "
        "order of the epoch."
    ),
    reason=(
        "The decoded pictures are the same in every epoch, only their order differs. So decoding "
        "belongs before the loop, "
        "and shuffling into it."
    ),
)
def batches(given: Any) -> None:
    """The batches of all epochs, with each picture decoded once."""
    calls: list[int] = []

    def decode(picture: int) -> np.ndarray:
        calls.append(picture)
        return np.full(3, float(picture))

    answer = called("batches", given, list(range(PICTURES)), decode, EPOCHS, BATCH, np.random.default_rng(5))
    try:
        arrays = [np.asarray(array, dtype=np.float64) for array in answer]
    except (TypeError, ValueError):
        raise Hint(f"batches should yield arrays [images, pixels]; it gives {answer!r:.60}.") from None
    if not arrays or any(is_empty(array) for array in arrays):
        raise Hint("Nothing is there yet: batches yields no batch.")
    if any(array.ndim != 2 or array.shape[1] != 3 for array in arrays):
        wrong = next(array.shape for array in arrays if array.ndim != 2 or array.shape[1] != 3)
        raise Hint(f"A batch should be an array [images, pixels]; one of yours has the shape {wrong}.")
    _orders(arrays)
    if len(calls) > PICTURES:
        raise Hint(
            f"Your loader decodes {len(calls)} times for {PICTURES} pictures in {EPOCHS} epochs. Each "
            f"picture should be "
            "decoded once."
        )


def _orders(arrays: Sequence[np.ndarray]) -> None:
    """Raise the hint for batches that aren't those of the slow loader."""
    sizes, full = [len(array) for array in arrays], [BATCH, BATCH, PICTURES % BATCH]
    if sizes == [BATCH, BATCH] * EPOCHS:
        raise Hint(f"The last {PICTURES % BATCH} pictures of each epoch are missing: the last batch is smaller.")
    if sizes != full * EPOCHS:
        raise Hint(f"{EPOCHS} epochs of {PICTURES} pictures should have batches of {full} each; yours have {sizes}.")
    seen = np.concatenate(arrays)[:, 0].reshape(EPOCHS, PICTURES)
    if any(len(set(epoch)) < PICTURES for epoch in seen.tolist()):
        raise Hint("An epoch should have every picture once; in yours some come twice and others never.")
    if (seen == seen[0]).all():
        raise Hint("All epochs have the same order: draw a new one in each epoch.")


@exercise(
    "evaluate_now",
    hint=(
        "The number of ranks doesn't matter for the mended rule. Two conditions are joined by `or`: every so "
        "many iterations, and the last one."
    ),
    reason=(
        "The rule counts iterations, which are the same on all ranks. So more ranks don't make evaluations "
        "more frequent."
    ),
)
def evaluate_now(given: Any) -> None:
    """Every so many iterations and at the end, whatever the number of ranks."""
    for iterations, every, ranks in TRAININGS:
        got = _evaluations(given, iterations, every, ranks)
        alone = _evaluations(given, iterations, every, 1)
        right = [number for number in range(1, iterations + 1) if number % every == 0 or number == iterations]
        which = f"{iterations} iterations, every {every}"
        if got != alone:
            raise Hint(
                f"For {which}: {len(got)} evaluations on {ranks} ranks, {len(alone)} on one rank. The number of ranks "
                "should change nothing."
            )
        if got == right:
            continue
        if iterations not in got:
            raise Hint(f"For {which}: it ends without an evaluation after iteration {iterations}. How good is the end?")
        if 1 in got and 1 not in right:
            raise Hint(f"For {which}: it evaluates after the first iteration. Iterations are counted from 1 here.")
        if len(got) < len(right):
            raise Hint(f"For {which}: after iteration {_first(right, got)} there should be one, too.")
        raise Hint(f"For {which}: after iteration {_first(got, right)} there is one that shouldn't be.")


def _evaluations(given: Any, iterations: int, every: int, ranks: int) -> list[int]:
    """The iterations after which the learner's function evaluates."""
    if not callable(given):
        raise Hint(f"evaluate_now should be a function, but it is {given!r:.60}.")
    answers = {number: given(number, iterations, every, ranks) for number in range(1, iterations + 1)}
    if all(answer is None for answer in answers.values()):
        raise Hint("Nothing is there yet: evaluate_now returns nothing.")
    for number, answer in answers.items():
        if answer not in (True, False):
            raise Hint(f"After iteration {number} of {iterations} it returns {answer!r:.40} instead of True or False.")
    return [number for number, answer in answers.items() if answer]


def _first(these: Sequence[int], others: Sequence[int]) -> int | None:
    return next((number for number in these if number not in others), None)
