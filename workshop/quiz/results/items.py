"""Each question of a round in figures: how hard it was, whom it told apart, how long it took, what was chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

from workshop.core import words as say
from workshop.quiz.results import remarks
from workshop.quiz.results.answer_choices import Chosen, chosen, plain
from workshop.quiz.results.groups import groups, rest
from workshop.quiz.results.record import Answer, Results
from workshop.quiz.results.statistics import Quartiles, alike, correlation, quartiles, wilson


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
    chosen: tuple[Chosen, ...]
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
        remarks=remarks.of(results, question, rows, divided),
    )


def _discrimination(type: str, judged: tuple[Answer, ...], scores: dict[int, float]) -> Discrimination:
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
        why = f"it needs at least three answers, and there {'is' if len(pairs) == 1 else 'are'} {len(pairs)}"
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
