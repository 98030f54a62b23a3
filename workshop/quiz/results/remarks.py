"""What there is to say of the answers to one question: wrong options that do nothing or that the best take, and which
pair is wrong most often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from workshop.core import words as say
from workshop.quiz.deck import Base
from workshop.quiz.results.answer_choices import Chosen, number, plain, short
from workshop.quiz.results.groups import Groups
from workshop.quiz.results.record import Results
from workshop.quiz.results.statistics import quartiles

LEAST = 5  # answers from which on it says something that nobody took an option
BEST = 3  # learners of the upper group from which on it says something that they took a wrong one
MORE = 0.2  # by which its share there is larger than in the lower group


def of(results: Results, question: Base, rows: Sequence[Chosen], groups: Groups) -> tuple[str, ...]:
    """Sentences, possibly none."""
    if not results.of(question.id):
        return ()
    match question.type:
        case "single" | "multiple":
            return tuple(_options(results, question, rows, groups))
        case "number" | "predict":
            return tuple(_numbers(results, question))
        case "order":
            return tuple(_order(results, question))
        case "match":
            return tuple(_match(results, question, rows))
    return ()


def _options(results: Results, question: Base, rows: Sequence[Chosen], groups: Groups) -> Iterable[str]:
    answered = len(results.of(question.id))
    wrong = [row for row in rows if not row.right]
    if answered >= LEAST and (unused := [row for row in wrong if not row.count]):
        named = say.listed(f"{row.label} ({short(row.text)})" for row in unused)
        yield f"Nobody of {answered} took {named}: as a wrong answer it convinces nobody."
    for row in wrong:
        upper, lower = row.upper or 0, row.lower or 0
        if groups and upper >= BEST and upper / len(groups.upper) - lower / len(groups.lower) >= MORE:
            yield (
                f"{row.label} ({short(row.text)}) is wrong and drew {upper} of {len(groups.upper)} in the upper group, "
                f"{lower} of {len(groups.lower)} in the lower one: look at its wording, and at the key."
            )


def _numbers(results: Results, question: Any) -> Iterable[str]:
    answers, truth = results.of(question.id), results.truths.get(question.id)
    if truth is None and question.numbers:
        yield "Learners had numbers of their own, so that their answers can't be drawn together."
        return
    if getattr(question, "kind", "number") == "rank" or len(answers) < 2:
        return
    found = quartiles([one.answer for one in answers])
    assert found is not None, "there are answers"
    unit = f" {question.unit}" if question.unit else ""
    right = "" if truth is None else f"; right is {number(truth)}{unit}"
    yield (
        f"Half of the answers lie between {number(found.low)} and {number(found.high)}{unit}, "
        f"with {number(found.median)} in the middle{right}."
    )


def _order(results: Results, question: Any) -> Iterable[str]:
    """Items are written in the right order, so a pair is the wrong way round where the later one comes first."""
    answers = results.of(question.id)
    swapped = {
        (first, later): sum(list(one.answer).index(later) < list(one.answer).index(first) for one in answers)
        for first, later in combinations(range(len(question.items)), 2)
    }
    worst = max(swapped, key=lambda pair: swapped[pair])
    if count := swapped[worst]:
        first, later = (short(plain(results, question, question.items[place])) for place in worst)
        yield f"Most often the wrong way round: {later} before {first} ({count} of {len(answers)})."


def _match(results: Results, question: Any, rows: Sequence[Chosen]) -> Iterable[str]:
    answered = len(results.of(question.id))
    pairs = [row for row in rows if row.right]
    worst = min(pairs, key=lambda row: row.count)
    if worst.count == answered:
        return
    others = [row for row in rows if row.label == worst.label and not row.right]
    told = f"Most often wrong: {short(worst.text)} ({answered - worst.count} of {answered} had something else"
    if others:
        often = max(others, key=lambda row: row.count)
        told += f", {often.count} of them {short(often.text)}"
    yield told + ")."
