"""Checks of the exercises on tuning: each tries an answer on several inputs, and knows mistakes by their effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import mean, median
from typing import Any

from workshop.course.exercise_checks import Hint, exercise
from workshop.course.trials import called

Runs = Sequence[tuple[str, float]]

# Runs of two settings, in the order in which they ran. Names are not in alphabetical order on purpose.
LOGS: tuple[Runs, ...] = (
    (("two", 300.0), ("one", 330.0), ("two", 310.0), ("one", 20.0), ("two", 305.0), ("one", 345.0)),
    (("before", 100.0), ("after", 120.0), ("before", 102.0), ("after", 121.0), ("before", 101.0), ("after", 119.0)),
    (("old", 200.0), ("new", 150.0), ("old", 202.0), ("new", 151.0), ("old", 199.0), ("new", 149.0)),
    (("x", 100.0), ("b", 104.0), ("x", 110.0), ("b", 112.0), ("x", 105.0), ("b", 108.0), ("x", 103.0), ("b", 109.0)),
    (("plain", 100.0), ("fancy", 150.0)),
)
# Cores, and images of a step.
SHARES = ((4, 64), (6, 48), (6, 64), (2, 64), (8, 24), (1, 64))
# Iterations, how often to evaluate, ranks.
TRAININGS = ((60, 15, 1), (60, 15, 4), (100, 15, 2), (30, 1, 2), (10, 15, 8))
# Stages of a waterfall, each with the seconds of the whole training.
STAGES: tuple[Runs, ...] = (
    (("naive start", 120.0), ("all cores", 80.0), ("ranks x threads", 60.0), ("evaluation", 40.0)),
    (("start", 16.0), ("one node", 8.0), ("eight nodes", 1.0)),
    (("start", 30.0), ("settings", 33.0), ("ranks", 15.0)),
    (("start", 30.0),),
)


def _near(one: Any, other: float) -> bool:
    try:
        return math.isclose(float(one), other, rel_tol=1e-3)
    except (TypeError, ValueError):
        return False


@exercise(
    "judge",
    hint=(
        "Collect the values of each setting in a dict of lists, in the order of their first appearance. "
        "`median` gives the ratio; for the second result, compare `min` of one list with `max` of the other."
    ),
    reason=(
        "Medians ignore one disturbed run. The ranges are apart if the slowest run of one setting is faster "
        "than the fastest run of the other, and one run of each can't show that."
    ),
)
def judge(given: Any) -> None:
    """The ratio of medians of two settings, and whether their ranges are apart."""
    for log in LOGS:
        names = list(dict.fromkeys(name for name, _ in log))
        first, second = ([rate for name, rate in log if name == wanted] for wanted in names)
        answer = called("judge", given, list(log))
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise Hint(f"It should return two values, the ratio and whether it is sure; this is {answer!r:.80}.")
        ratio, sure = answer
        rates = f"{names[0]} {_rates(first)}, {names[1]} {_rates(second)}"
        _ratio(ratio, first, second, names, rates)
        if sure not in (True, False):
            raise Hint(f"The second value should be True or False; it is {sure!r:.60}.")
        apart = min(first) > max(second) or min(second) > max(first)
        enough = min(len(first), len(second)) > 1
        if sure and not enough:
            raise Hint(f"One run of each ({rates}) is called sure. Who knows how far a second one would be off?")
        if sure and not apart:
            raise Hint(f"Called sure, although the repeats overlap: {rates}. Medians differ by chance, too.")
        if not sure and apart and enough:
            slower = f" Also where {names[1]} is the slower one." if max(second) < min(first) else ""
            raise Hint(f"Not called sure, although no repeat of one lies among those of the other: {rates}.{slower}")


def _rates(rates: Sequence[float]) -> str:
    return "/".join(f"{rate:g}" for rate in rates)


def _ratio(ratio: Any, first: list[float], second: list[float], names: list[str], rates: str) -> None:
    right = median(second) / median(first)
    if _near(ratio, right):
        return
    if _near(ratio, 1 / right):
        raise Hint(
            f"The ratio is upside down for {rates}: how many times as fast is {names[1]}, which came second, as "
            f"{names[0]}?"
        )
    if _near(ratio, mean(second) / mean(first)):
        raise Hint(f"The ratio is {ratio:.3f} for {rates}. That is of means, which one disturbed run pulls along.")
    if _near(ratio, max(second) / max(first)):
        raise Hint(f"The ratio is {ratio:.3f} for {rates}. That is of the best runs, and the best is a matter of luck.")
    if _near(ratio, median(second) - median(first)):
        raise Hint(f"{ratio:g} is a difference of images/s, for {rates}. How many times as fast asks for a ratio.")
    raise Hint(f"The ratio is {ratio!r:.40} for {rates}; by medians it is another one.")


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
                raise Hint(f"For {which}: {ranks} x {threads} has nobody to work. A rank has at least one thread.")
            if ranks * threads > cores:
                raise Hint(f"For {which}: {ranks} ranks x {threads} threads are more threads than cores.")
            if batch % ranks:
                raise Hint(f"For {which}: {ranks} ranks can't divide {batch} images among them, some would get more.")
            if images == batch and ranks > 1:
                raise Hint(f"For {which}: {ranks} ranks have {images} images each. They share the batch of a step.")
            if images * ranks != batch:
                raise Hint(f"For {which}: {ranks} ranks with {images} images each don't make a batch of {batch}.")
            if ranks * (threads + 1) <= cores:
                raise Hint(f"For {which}: {ranks} ranks x {threads} threads leave cores idle that they could use.")
        missing = [way for way in right if way not in ways]
        if missing:
            ranks, threads, _ = missing[0]
            raise Hint(
                f"For {which}: {ranks} x {threads} is missing. Ranks needn't divide the cores; what is left stays idle."
            )
        if ways != right:
            raise Hint(f"For {which}: all are there, but not once each and in order of ranks.")


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


@exercise(
    "waterfall",
    hint=(
        "`zip(stages, stages[1:])` gives each stage with the stage before it. The gain is time before / time "
        "now, the speed-up is time at the start / time now."
    ),
    reason=("Gains are factors, so their product is the last speed-up. The start stays the same for all stages."),
)
def waterfall(given: Any) -> None:
    """The gain of each stage on top of those before, and the speed-up so far."""
    for stages in STAGES:
        right = [(name, before / seconds, stages[0][1] / seconds) for (_, before), (name, seconds) in pairwise(stages)]
        found = called("waterfall", given, list(stages))
        shown = ", ".join(f"{name} {seconds:g} s" for name, seconds in stages)
        try:
            rows = [(str(name), float(gain), float(so_far)) for name, gain, so_far in found]
        except (TypeError, ValueError):
            raise Hint(f"It should be a list of (name, gain, speed-up); for {shown} it is {found!r:.80}.") from None
        if rows and rows[0][0] == stages[0][0]:
            raise Hint(f"The start ({stages[0][0]}) is in the list. It has nothing before it, so it gives nothing.")
        if [row[0] for row in rows] != [row[0] for row in right]:
            raise Hint(f"For {shown} there should be a row for each stage but the start, in their order.")
        for at, ((name, gain, so_far), (_, gave, speed_up)) in enumerate(zip(rows, right, strict=True)):
            before, after = stages[at][1], stages[at + 1][1]
            if not _near(gain, gave):
                _gain(name, gain, before, after, stages[0][1])
            if not _near(so_far, speed_up):
                _speed_up(name, so_far, speed_up, [row[1] for row in right[: at + 1]])


def _gain(name: str, gain: float, before: float, after: float, start: float) -> None:
    """Say what is off with a stage's own gain."""
    if _near(gain, after / before):
        raise Hint(
            f"{name}: {before:g} s became {after:g} s, and the gain is {gain:.3g}. It is upside down: twice as fast is "
            "half the time."
        )
    if _near(gain, start / after):
        raise Hint(f"{name}: {gain:.3g} is against the start. A gain is on top of the stage before, of {before:g} s.")
    if _near(gain, before - after):
        raise Hint(f"{name}: {gain:g} is a number of seconds saved. A gain is how many times as fast it became.")
    if _near(gain, before / after - 1):
        raise Hint(f"{name}: faster *by* {gain:.0%} is {1 + gain:.3g} times *as* fast. The latter is asked for.")
    raise Hint(f"{name}: {before:g} s became {after:g} s, and the gain is {gain:.3g}. How many times as fast is that?")


def _speed_up(name: str, so_far: float, right: float, gains: Sequence[float]) -> None:
    """Say what is off with a speed-up so far."""
    if _near(so_far, sum(gains)) or _near(so_far, 1 + sum(gain - 1 for gain in gains)):
        raise Hint(f"Up to {name} the speed-up is {so_far:.3g}: gains were added. They are factors.")
    if _near(so_far, 1 / right):
        raise Hint(f"Up to {name} the speed-up is {so_far:.3g}, upside down: the start's time goes above the line.")
    if _near(so_far, gains[-1]):
        raise Hint(f"Up to {name} the speed-up is {so_far:.3g}: that is this stage alone, without those before it.")
    raise Hint(f"Up to {name} the speed-up is {so_far:.3g}. Compare the time of the start with that of this stage.")
