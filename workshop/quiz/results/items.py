"""Each question of a round in figures: how hard it was, whom it told apart, how long it took, what was chosen, and what
there is to say of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from workshop.core import words as say
from workshop.quiz.deck import Base
from workshop.quiz.results.answer_choices import AnswerChoice, chosen, number, plain, short
from workshop.quiz.results.groups import Groups, groups, rest
from workshop.quiz.results.record import Results, RoundAnswer
from workshop.quiz.results.statistics import Quartiles, alike, correlation, quartiles, wilson

FEWEST = 5  # answers from which on it says something that nobody took an option
BEST = 3  # learners of the upper group from which on it says something that they took a wrong one
MORE = 0.2  # by which its share there is larger than in the lower group


def _remarks(results: Results, question: Base, rows: Sequence[AnswerChoice], groups: Groups) -> tuple[str, ...]:
    """Sentences, possibly none."""
    if not results.of(question.id):
        return ()
    match question.type:
        case "single" | "multiple":
            return tuple(_option_remarks(results, question, rows, groups))
        case "number" | "predict":
            return tuple(_number_remarks(results, question))
        case "order":
            return tuple(_order_remarks(results, question))
        case "match":
            return tuple(_match_remarks(results, question, rows))
    return ()


def _option_remarks(results: Results, question: Base, rows: Sequence[AnswerChoice], groups: Groups) -> Iterable[str]:
    answered = len(results.of(question.id))
    wrong = [row for row in rows if not row.right]
    if answered >= FEWEST and (unused := [row for row in wrong if not row.count]):
        named = say.listed(f"{row.label} ({short(row.text)})" for row in unused)
        yield f"Nobody of {answered} took {named}: as a wrong answer it convinces nobody."
    for row in wrong:
        upper, lower = row.upper or 0, row.lower or 0
        if groups and upper >= BEST and upper / len(groups.upper) - lower / len(groups.lower) >= MORE:
            yield (
                f"{row.label} ({short(row.text)}) is wrong and drew {upper} of {len(groups.upper)} in the upper group, "
                f"{lower} of {len(groups.lower)} in the lower one: look at its wording, and at the key."
            )


def _number_remarks(results: Results, question: Any) -> Iterable[str]:
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


def _order_remarks(results: Results, question: Any) -> Iterable[str]:
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


def _match_remarks(results: Results, question: Any, rows: Sequence[AnswerChoice]) -> Iterable[str]:
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


@dataclass(frozen=True)
class Discrimination:
    """How well a question tells those apart who did well on the others from those who didn't, -1..1."""

    value: float | None  # None: not defined; `words` says why
    of: int  # answers
    words: str


@dataclass(frozen=True)
class Item:
    """One question. Shares are of those who answered and were judged; whoever didn't answer isn't counted as wrong."""

    number: int  # its place in the deck, from 1, as it was shown
    id: str
    type: str
    text: str
    tags: tuple[str, ...]
    worth: float  # points
    there: int  # players
    answered: int
    judged: int
    right: int
    share: float | None  # who had it right; None where nobody is judged
    interval: tuple[float, float] | None  # of that share, 95 %
    mark: float | None  # mean mark, 0..1: partly right answers count in part
    points: float | None  # mean
    seconds: Quartiles | None
    discrimination: Discrimination
    groups: str  # into which groups the class is divided, or why not
    chosen: tuple[AnswerChoice, ...]
    remarks: tuple[str, ...]


def items(results: Results) -> tuple[Item, ...]:
    places = {question.id: number for number, question in enumerate(results.deck.questions, 1)}
    return tuple(_item(results, places[id], id) for id in results.asked)


def _item(results: Results, number: int, id: str) -> Item:
    question, answers, judged = results.deck.question(id), results.of(id), results.judged(id)
    right = sum(bool(one.right) for one in judged)
    scores = rest(results, id)
    answered = {one.player for one in answers}
    divided = groups({player: score for player, score in scores.items() if player in answered})
    rows = chosen(results, question, divided)
    points = [one.points for one in judged if one.points is not None]
    times = [one.seconds for one in answers if one.seconds is not None]
    return Item(
        number=number,
        id=id,
        type=question.type,
        text=plain(results, question, question.text),
        tags=question.tags,
        worth=results.deck.points_of(question),
        there=len(results.there(id)),
        answered=len(answers),
        judged=len(judged),
        right=right,
        share=right / len(judged) if judged else None,
        interval=wilson(right, len(judged)),
        mark=fmean(one.share or 0.0 for one in judged) if judged else None,
        points=fmean(points) if points else None,
        seconds=quartiles(times),
        discrimination=_discrimination(question.type, judged, scores),
        groups=divided.words,
        chosen=rows,
        remarks=_remarks(results, question, rows, divided),
    )


def _discrimination(type: str, judged: tuple[RoundAnswer, ...], scores: dict[int, float]) -> Discrimination:
    """The point-biserial correlation of the mark with the score on the other questions (corrected item-total
    correlation: Henrysson, Correction of item-total correlations in item analysis, Psychometrika 28, 1963). Marks in
    between make it Pearson's, of which it is a case."""
    pairs = [(one.share or 0.0, scores[one.player]) for one in judged if one.player in scores]
    marks, others = [mark for mark, _ in pairs], [score for _, score in pairs]
    value = correlation(marks, others)
    if value is not None:
        return Discrimination(value, len(pairs), _told(value, len(pairs)))
    if type == "poll":
        why = "a poll has no right answer"
    elif not judged:
        why = "no answer has been judged"
    elif not pairs:
        why = "there is no other question with marks"
    elif len(pairs) < 3:
        why = f"it needs at least three answers, and there {say.verb(len(pairs))} {len(pairs)}"
    elif alike(marks):
        why = "all got the same mark"
    else:
        why = "all did equally well on the other questions"
    return Discrimination(None, len(pairs), f"Not defined: {why}.")


def _told(value: float, of: int) -> str:
    """In words. From 0.4 on a question is usually called a good one, below 0.2 a poor one (Ebel and Frisbie, Essentials
    of educational measurement, 1991)."""
    chance = 1.96 / math.sqrt(of - 1)  # two standard errors of a correlation where there is none
    if value <= -0.2:
        told = "Those who did well on the other questions got it wrong more often"
    elif value < 0.2:
        told = "It hardly tells those apart who did well on the other questions"
    elif value < 0.4:
        told = "Those who did well on the other questions got it right somewhat more often"
    else:
        told = "Those who did well on the other questions got it right much more often"
    if chance >= 1:
        return f"{told}; with {say.count(of, 'answer')} this says next to nothing."
    if abs(value) < chance:
        return f"{told}; with {of} answers chance alone does up to {chance:.2f}."
    return f"{told}."
