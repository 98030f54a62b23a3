"""Checks of lab 11: the work of a stage with 1F1B, the bubble of unequal stages, and a schedule that beats 1F1B."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workshop.core.errors import BadInput
from workshop.course.exercise_checks import Hint, exercise
from workshop.workloads.parallel import schedules

# Exercise 1.

SHAPES = ((4, 8), (2, 4), (3, 3), (4, 2), (1, 3))  # stages and micro-batches


def expected_work(stage: int, stages: int, micro_batches: int) -> list[str]:
    """The work of a stage with 1F1B."""
    streams = schedules.one_forward_one_backward(stages, micro_batches)
    return schedules.written(streams).split(" / ")[stage].split()


@exercise(
    "order_work",
    hint=(
        "Begin with `warm_up = min(stages - stage - 1, micro_batches)` forward computations. Then go through all "
        "micro-batches: first the forward computation of number `warm_up + micro`, if it exists, then the backward "
        "computation of number `micro`."
    ),
    reason=(
        "A micro-batch that stage s has sent on comes back after p - s - 1 further forward computations. So the stage "
        "fills this time with as many micro-batches, and afterwards one backward makes room for one forward."
    ),
)
def order_work(answer: Callable[..., Any]) -> None:
    for stages, micro_batches in SHAPES:
        texts = [answer(stage, stages, micro_batches) for stage in range(stages)]
        work = [_work(text, stage, stages, micro_batches) for stage, text in enumerate(texts)]
        case = f"with {stages} stages and {micro_batches} micro-batches"
        if all(len(set(items)) == 2 * micro_batches for items in work):
            if micro_batches > 1 and all(items == _naive(micro_batches) for items in work) and stages > 1:
                raise Hint(
                    "This is the naive schedule: each micro-batch goes forward and back before the next one begins. "
                    "Add the warm-up: stage 0 begins with several forward computations."
                )
            forwards = [f"F{micro}" for micro in range(micro_batches)]
            if micro_batches > stages and all(items[:micro_batches] == forwards for items in work):
                raise Hint(
                    f"This is GPipe: {case}, each stage holds the activations of all {micro_batches} micro-batches. "
                    "Begin with the backward computations after the warm-up, one after each forward computation."
                )
        for stage, items in enumerate(work):
            _in_order(items, stage, case)
        try:
            schedules.check(schedules.parse(" / ".join(map(" ".join, work)), stages), stages, micro_batches)
        except BadInput as error:
            raise Hint(
                f"{case.capitalize()}: {_sentence(error)} Stage 0 has the longest warm-up, and the last stage has none."
            ) from None
        for stage, items in enumerate(work):
            _follows(items, stage, stages, micro_batches, case)


def _work(text: Any, stage: int, stages: int, micro_batches: int) -> list[str]:
    """The instructions of a text. Raises Hint where they aren't F and B of each micro-batch once."""
    call = f"order_work({stage}, {stages}, {micro_batches})"
    if text is None or text is Ellipsis:
        raise Hint("Nothing is there yet: order_work should return the work of a stage as a text, such as F0 F1 B0 B1.")
    if isinstance(text, list | tuple):
        raise Hint(f'{call} returns a {type(text).__name__}; join its items to one text: " ".join(...).')
    if not isinstance(text, str):
        raise Hint(f"{call} should return a text, and returns {type(text).__name__}.")
    if "/" in text:
        raise Hint(f"{call} has a `/`: return the work of one stage only. The notebook joins the stages.")
    items = text.split()
    for item in items:
        if re.fullmatch(r"W\d+", item):
            raise Hint(f"{call} has {item}. In 1F1B, a backward computation has both gradients, so there is no W.")
        if not re.fullmatch(r"[FB]\d+", item):
            raise Hint(
                f"{call} has {item!r}. Each instruction is F or B with a number, with a space after it: F0 F1 B0."
            )
    numbers = {int(item[1:]) for item in items}
    if 0 not in numbers and micro_batches in numbers:
        raise Hint("Your micro-batches count from 1. They count from 0, as ranks do.")
    if numbers and max(numbers) >= micro_batches:
        raise Hint(
            f"{call} has the micro-batch {max(numbers)}, and the last one is {micro_batches - 1}. There may be fewer "
            "micro-batches than the warm-up would take."
        )
    for kind, name in (("F", "forward"), ("B", "backward")):
        for micro in range(micro_batches):
            count = items.count(f"{kind}{micro}")
            if not count:
                phase = " Don't forget the cool-down." if kind == "B" else ""
                raise Hint(f"{call} has no {name} computation of micro-batch {micro}.{phase}")
            if count > 1:
                raise Hint(f"{call} has {kind}{micro} {count} times; each computation comes once.")
    return items


def _naive(micro_batches: int) -> list[str]:
    return [f"{kind}{micro}" for micro in range(micro_batches) for kind in "FB"]


def _in_order(items: Sequence[str], stage: int, case: str) -> None:
    """Raises Hint where a backward computation comes before its forward, or numbers don't grow."""
    for place, item in enumerate(items):
        if item[0] == "B" and f"F{item[1:]}" not in items[:place]:
            raise Hint(
                f"{case.capitalize()}, stage {stage} has {item} before F{item[1:]}: a backward computation needs the "
                "activations of its forward computation. In the steady phase, forward comes first."
            )
    for kind, name in (("F", "forward"), ("B", "backward")):
        numbers = [int(item[1:]) for item in items if item[0] == kind]
        if numbers != sorted(numbers):
            raise Hint(
                f"{case.capitalize()}, the {name} computations of stage {stage} come in the order "
                f"{', '.join(map(str, numbers))}. The first one comes back first, so take them by their numbers."
            )


def _follows(items: Sequence[str], stage: int, stages: int, micro_batches: int, case: str) -> None:
    """Raises Hint where a stage's order differs from that of 1F1B."""
    expected = expected_work(stage, stages, micro_batches)
    if list(items) == expected:
        return
    first, right = (next(at for at, item in enumerate(work) if item[0] == "B") for work in (items, expected))
    most = _most_held(items)
    if first > right or most > min(stages - stage, micro_batches):
        raise Hint(
            f"{case.capitalize()}, stage {stage} holds the activations of {most} micro-batches at the same time, and "
            f"{min(stages - stage, micro_batches)} are enough. The warm-up has {right - 1} forward computations, "
            f"and one more comes before the first backward: yours has {first} before it."
        )
    if first < right:
        raise Hint(
            f"{case.capitalize()}, stage {stage} has {first} forward computations before its first backward, and "
            f"should have {right}: the warm-up is too short, so the stage waits although it could compute."
        )
    place = next(at for at, pair in enumerate(zip(items, expected, strict=True)) if pair[0] != pair[1])
    raise Hint(
        f"{case.capitalize()}, stage {stage} begins well, but instruction {place} is {items[place]} and should be "
        f"{expected[place]}: after the warm-up, one forward and one backward take turns."
    )


def _most_held(items: Sequence[str]) -> int:
    """The most micro-batches whose activations a stage holds at the same time."""
    number = most = 0
    for item in items:
        number += {"F": 1, "B": -1}.get(item[0], 0)
        most = max(most, number)
    return most


def _sentence(error: BadInput) -> str:
    """The message of the workload's checker; a stop is a deadlock."""
    return str(error).replace("The schedule stands still:", "this is a deadlock:")


# Exercise 2.


def bubble_of(seconds: Sequence[float], micro_batches: int) -> float:
    """The bubble of GPipe with unequal stages."""
    step = sum(seconds) + (micro_batches - 1) * max(seconds)
    return 1 - micro_batches * sum(seconds) / (len(seconds) * step)


@exercise(
    "predict_bubble",
    hint=(
        "Compute the time of the step first: `step = sum(seconds) + (micro_batches - 1) * max(seconds)`. The stages "
        "work for `micro_batches * sum(seconds)` together, and they have `len(seconds) * step` together."
    ),
    reason=(
        "The bubble is 1 - work / time, both added up over all stages. With equal stages, the seconds cancel, and "
        "(p - 1) / (m + p - 1) stays."
    ),
)
def predict_bubble(answer: Callable[..., Any]) -> None:
    cases = (([3.0, 3.0], 4), ([2.0] * 4, 8), ([3.0, 2.0, 6.0, 4.0], 4), ([1.0, 3.0], 4), ([5.0], 3), ([1.0, 2.0], 1))
    for seconds, micro_batches in cases:
        result = answer(list(seconds), micro_batches)
        if result is None or result is Ellipsis:
            raise Hint("Nothing is there yet: predict_bubble should return the bubble, a number from 0 to 1.")
        if not isinstance(result, int | float | np.number) or isinstance(result, bool):
            raise Hint(f"predict_bubble should return a number, and returns {type(result).__name__}.")
        expected = bubble_of(seconds, micro_batches)
        if not _near(result, expected):
            case = f"predict_bubble({seconds}, {micro_batches})"
            raise Hint(_wrong_bubble(float(result), seconds, micro_batches, case))


def _wrong_bubble(result: float, seconds: Sequence[float], micro_batches: int, case: str) -> str:
    """What is wrong with a bubble."""
    expected, stages = bubble_of(seconds, micro_batches), len(seconds)
    total, slowest, mean = sum(seconds), max(seconds), sum(seconds) / len(seconds)
    step = total + (micro_batches - 1) * slowest
    work = micro_batches * total

    def share(time: float) -> float:
        return 1 - work / (stages * time)

    equal = (stages - 1) / (micro_batches + stages - 1)
    reasons = {
        100 * expected: "that is the bubble in per cent. Return a share from 0 to 1.",
        1 - expected: "that is the share of the time in which the stages work. The bubble is the other part.",
        stages * step - work: "these are the idle seconds of all stages. Divide them by the time of all stages, p T.",
        step: "this is the time of the step. The bubble is the share of p T without work.",
        1 - work / step: "T is the time of one stage, and the work is that of all stages. Multiply T by the stages.",
        share(stages * step) if stages > 1 else math.nan: "the time of the stages is counted twice.",
        (stages * step - work) / work: "that is idle time divided by work. Divide by all of the time: work and idle.",
        share(total + micro_batches * slowest): (
            "the first micro-batch is counted twice: it is in the sum, and m - 1 follow it."
        ),
        share(
            micro_batches * total
        ): "that is the naive schedule, in which each micro-batch waits for the one before it.",
        share(micro_batches * slowest): "the fill and the drain are missing: the first micro-batch takes the sum.",
        equal: "that is the formula for equal stages. Further micro-batches queue at the slowest stage, max(seconds).",
        share(
            total + (micro_batches - 1) * mean
        ): "further micro-batches follow at the pace of the slowest stage, not of the mean.",
        share(
            total + (micro_batches - 1) * min(seconds)
        ): "further micro-batches queue at the slowest stage, not the fastest.",
        share(total + (micro_batches - 1) * seconds[-1]): (
            "further micro-batches queue at the slowest stage, which need not be the last one."
        ),
        share(total + (micro_batches - 1) * seconds[0]): (
            "further micro-batches queue at the slowest stage, which need not be stage 0."
        ),
    }
    for value, reason in reasons.items():
        if _near(result, value):
            return f"{case} returns {result:.4g}: {reason}"
    return (
        f"{case} returns {result:.4g}. The step takes {step:g} s, so {stages} stages have {stages * step:g} s, and "
        f"they work for {work:g} s. The bubble is the share without work."
    )


def _near(result: float, expected: float) -> bool:
    return math.isclose(result, expected, rel_tol=1e-6, abs_tol=1e-9)


# Exercise 3.

FASTER_STAGES, FASTER_MICRO_BATCHES = 2, 4
BEGINNING = "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3 / F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3"
LEAST = 13  # slots


@exercise(
    "faster",
    hint=(
        "Stage 0 is idle between F1 and B0 and between the backward computations. Let the last stage do B0 and F1 "
        "before its first W, so that stage 0 gets each gradient as early as possible, and do the last W at the end."
    ),
    reason=(
        "Stage 0 needs the gradients of the inputs from stage 1. So stage 1 puts off its W, and stage 0 does its own "
        "W where it would wait. Stage 1 can't begin before F0 of stage 0, so 12 slots of work take at least 13 "
        "slots, and one idle slot stays on each stage."
    ),
)
def faster(answer: Any) -> None:
    if not isinstance(answer, str):
        raise Hint(f"`faster` should be a text with the work of both stages, and it is {type(answer).__name__}.")
    items = answer.split()
    if items == BEGINNING.split():
        raise Hint("Nothing is there yet: `faster` is still 1F1B, with each W at once after its B.")
    if items and not any(item.startswith("W") for item in items):
        raise Hint(
            "Your schedule has no W. Without W, each B has both gradients and takes two slots. Divide it: a B for the "
            "inputs and a W for the weights."
        )
    try:
        streams = schedules.parse(answer, FASTER_STAGES)
        schedules.check(streams, FASTER_STAGES, FASTER_MICRO_BATCHES)
    except BadInput as error:
        sentence = _sentence(error)
        raise Hint(sentence[0].upper() + sentence[1:]) from None
    except ValueError:
        raise Hint(
            "A stage without work can't be judged: write F, B and W of four micro-batches on each stage."
        ) from None
    spans = schedules.simulate(streams, lambda instruction: 1.0)
    slots = round(max(span.end for span in spans))
    if slots <= LEAST:
        return
    late = max(range(FASTER_STAGES), key=lambda stage: _idle_inside(spans, stage))
    begin, end = _longest_wait(spans, late)
    where = f"Stage {late} is idle from slot {begin:g} to slot {end:g}"
    if slots >= 15:
        raise Hint(f"Your schedule takes {slots} slots, and 1F1B takes 15. {where}: which W could fill this time?")
    raise Hint(
        f"Your schedule takes {slots} slots: better than 1F1B, and 13 are possible. {where}. Begin B0 on stage 1 at "
        "once after its F0, or move a W into this time."
    )


def _waits(spans: Sequence[schedules.StageSpan], stage: int) -> list[tuple[float, float]]:
    """When a stage waits between its first and its last work."""
    work = sorted(
        (span.begin, span.end) for span in spans if span.stage == stage and span.instruction.kind in schedules.WORK
    )
    return [(before[1], after[0]) for before, after in itertools.pairwise(work) if after[0] > before[1]]


def _idle_inside(spans: Sequence[schedules.StageSpan], stage: int) -> float:
    return sum(end - begin for begin, end in _waits(spans, stage))


def _longest_wait(spans: Sequence[schedules.StageSpan], stage: int) -> tuple[float, float]:
    return max(_waits(spans, stage), key=lambda wait: wait[1] - wait[0], default=(0.0, 0.0))
