"""How an answer is judged: which share of the points it gets, whether it is right, and what its author is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from workshop.core import words
from workshop.quiz import expressions, placement_questions, text_input
from workshop.quiz.deck import Choice, Match, Multiple, Number, Order, Place, Poll, Predict, Single, Text
from workshop.quiz.parts import Tolerance
from workshop.quiz.randomisation import DrawnQuestion
from workshop.quiz.rendering import html

LOST_AT = 5.0  # tolerances at which a prediction gets nothing any more


@dataclass(frozen=True)
class Mark:
    """`share` of the points, from 0 to 1; `right` is None where nothing is right (a poll); `feedback` is HTML."""

    share: float
    right: bool | None
    feedback: tuple[str, ...] = ()


def grade(asked: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
    """Judge an answer as it is kept (`asked.answer`); `truth` is what was measured, for a prediction.

    A place asks the MPI's mapper, which takes a fifth of a second. Raises ValueError for a prediction without truth,
    WorkshopError where the mapper can't tell.
    """
    question = asked.question
    match question:
        case Poll():
            return Mark(0.0, None)
        case Single():
            right = answer in question.right
            return Mark(float(right), right, _of_options(asked, question, [answer]))
        case Multiple():
            return _multiple(asked, question, answer)
        case Number():
            return _number(asked, question, answer)
        case Order():
            share = ordered(answer)
            return Mark(share, list(answer) == sorted(answer))
        case Match():
            right = sum(given == wanted for wanted, given in enumerate(answer))
            return Mark(right / len(question.pairs), right == len(question.pairs))
        case Text():
            return _text(asked, question, answer)
        case Predict():
            if truth is None:
                raise ValueError(f"what {question.id} asks for has not been measured")
            return _predict(question, answer, truth)
        case Place():
            judged = placement_questions.judge(question, answer)
            known = [html(near.feedback, asked.numbers) for near in judged.near]
            return Mark(float(judged.right), judged.right, (*known, *judged.feedback))
    raise TypeError(f"a {type(question).__name__} can't be graded")


def value_of(asked: DrawnQuestion, given: float | str) -> float:
    """A number, or what an expression comes to with this person's numbers. Raises ValueError where it has no value."""
    return given if isinstance(given, int | float) else expressions.evaluate(given, asked.numbers)


def within(answer: float, right: float, tolerance: Tolerance) -> bool:
    """Whether a number is as near as it should be; one that is just on the edge is, whatever its last digits."""
    allowed = tolerance.around(right)
    return abs(answer - right) <= allowed + 1e-12 * max(abs(right), abs(answer))


def ordered(places: Sequence[int]) -> float:
    """How well things are in order, from 0 (as by chance, or worse) to 1 (exactly): Kendall's tau, at least 0."""
    pairs = list(combinations(places, 2))
    return max(0.0, 2 * sum(first < second for first, second in pairs) / len(pairs) - 1)


def closeness(answer: float, truth: float, tolerance: Tolerance) -> float:
    """1 within the tolerance; beyond it in a straight line down to 0 at five times the tolerance, or, where that is a
    share, as far off as the right answer is large, if that comes before: whoever says nothing gets nothing."""
    if within(answer, truth, tolerance):
        return 1.0
    allowed = tolerance.around(truth)
    if not allowed:
        return 0.0
    lost = LOST_AT * allowed if tolerance.relative is None else min(LOST_AT * allowed, abs(truth))
    return max(0.0, (lost - abs(answer - truth)) / (lost - allowed)) if lost > allowed else 0.0


def _multiple(asked: DrawnQuestion, question: Multiple, answer: Sequence[int]) -> Mark:
    wanted, chosen = set(question.right), set(answer)
    share = max(0.0, (len(chosen & wanted) - len(chosen - wanted)) / len(wanted))
    said = list(_of_options(asked, question, answer))
    if missed := len(wanted - chosen):
        said.append(f"<p>{words.count(missed, 'right answer')} {words.verb(missed)} missing.</p>")
    return Mark(share, chosen == wanted, tuple(said))


def _of_options(asked: DrawnQuestion, question: Choice, chosen: Sequence[int]) -> tuple[str, ...]:
    """What those who chose these options are told, in the order in which they saw them."""
    seen = sorted(chosen, key=asked.order.index)
    return tuple(
        html(option.feedback, asked.numbers) for option in map(question.options.__getitem__, seen) if option.feedback
    )


def _number(asked: DrawnQuestion, question: Number, answer: float) -> Mark:
    if within(answer, value_of(asked, question.answer), question.tolerance):
        return Mark(1.0, True)
    for near in question.near:
        if within(answer, value_of(asked, near.answer), near.tolerance or question.tolerance):
            return Mark(0.0, False, (html(near.feedback, asked.numbers),))
    return Mark(0.0, False)


def _text(asked: DrawnQuestion, question: Text, answer: str) -> Mark:
    given = text_input.alike(answer)

    def among(forms: Sequence[str]) -> bool:
        return any(given == text_input.alike(form) for form in forms)

    if among(question.accept):
        return Mark(1.0, True)
    return Mark(
        0.0, False, tuple(html(near.feedback, asked.numbers) for near in question.near if among(near.accept))[:1]
    )


def _predict(question: Predict, answer: float, truth: float) -> Mark:
    if question.kind == "rank":
        right = answer == round(truth)
        return Mark(float(right), right)
    share = closeness(answer, truth, question.tolerance)
    return Mark(share, share == 1.0)
