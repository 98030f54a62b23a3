"""Statistics of each question of a round: difficulty, discrimination, times, distribution of answers, and remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from workshop.core import words as say
from workshop.quiz.results.gains import Gain, gain
from workshop.quiz.results.groups import groups, rest
from workshop.quiz.results.record import Results, RoundAnswer
from workshop.quiz.results.statistics import Quartiles, constant, correlation, quartiles, wilson
from workshop.quiz.types.rows import AnswerChoice, plain


@dataclass(frozen=True)
class Discrimination:
    """How well a question separates learners with high and low scores on the other questions, -1..1."""

    value: float | None  # None: not defined; `words` says why
    of: int  # number of answers
    words: str


@dataclass(frozen=True)
class Item:
    """One question. Shares are of the graded answers; missing answers don't count as wrong."""

    number: int  # its place in the deck, from 1
    id: str
    type: str
    text: str
    tags: tuple[str, ...]
    worth: float  # points
    there: int  # number of present players
    answered: int
    judged: int
    right: int
    share: float | None  # of right answers; None without graded answers
    interval: tuple[float, float] | None  # 95 % interval of that share
    mark: float | None  # mean mark, 0..1: partly right answers count in part
    points: float | None  # mean
    seconds: Quartiles | None
    discrimination: Discrimination
    groups: str  # describes the groups of the class, or says why there are none
    chosen: tuple[AnswerChoice, ...]
    remarks: tuple[str, ...]
    gain: Gain | None  # None: the class voted once
    first: tuple[AnswerChoice, ...]  # as `chosen`, of the first vote


def items(results: Results) -> tuple[Item, ...]:
    places = {question.id: number for number, question in enumerate(results.deck.questions, 1)}
    return tuple(_item(results, places[id], id) for id in results.question_ids)


def _item(results: Results, number: int, id: str) -> Item:
    question, answers, judged = results.deck.question(id), results.answers_to(id), results.judged(id)
    before = results.first_vote(id)
    right = sum(bool(answer.right) for answer in judged)
    scores = rest(results, id)
    answered = {answer.player for answer in answers}
    divided = groups({player: score for player, score in scores.items() if player in answered})
    rows = tuple(question.results(results, divided))
    points = [answer.points for answer in judged if answer.points is not None]
    times = [answer.seconds for answer in answers if answer.seconds is not None]
    return Item(
        number=number,
        id=id,
        type=question.type,
        text=plain(results, question, question.text),
        tags=question.tags,
        worth=results.deck.points_of(question),
        there=len(results.present(id)),
        answered=len(answers),
        judged=len(judged),
        right=right,
        share=right / len(judged) if judged else None,
        interval=wilson(right, len(judged)),
        mark=fmean(answer.share or 0.0 for answer in judged) if judged else None,
        points=fmean(points) if points else None,
        seconds=quartiles(times),
        discrimination=_discrimination(question.marked, judged, scores),
        groups=divided.words,
        chosen=rows,
        remarks=tuple(question.remarks(results, rows, divided)) if answers else (),
        gain=gain(before.judged(id), judged) if before else None,
        first=tuple(question.results(before, divided)) if before else (),
    )


def _discrimination(marked: bool, judged: tuple[RoundAnswer, ...], scores: Mapping[int, float]) -> Discrimination:
    """The corrected item-total correlation, between the mark and the score on the other questions (Henrysson,
    Correction of item-total correlations in item analysis, Psychometrika 28, 1963). It is point-biserial if marks are
    only 0 and 1, otherwise Pearson's correlation."""
    pairs = [(answer.share or 0.0, scores[answer.player]) for answer in judged if answer.player in scores]
    marks, others = [mark for mark, _ in pairs], [score for _, score in pairs]
    value = correlation(marks, others)
    if value is not None:
        return Discrimination(value, len(pairs), _meaning(value, len(pairs)))
    if not marked:
        why = "a poll has no right answer"
    elif not judged:
        why = "no answer has been judged"
    elif not pairs:
        why = "there is no other question with marks"
    elif len(pairs) < 3:
        why = f"it needs at least three answers, and there {say.verb(len(pairs))} {len(pairs)}"
    elif constant(marks):
        why = "all got the same mark"
    else:
        why = "all did equally well on the other questions"
    return Discrimination(None, len(pairs), f"Not defined: {why}.")


def _meaning(value: float, answers: int) -> str:
    """Explain a discrimination. A question is usually called good from 0.4 on, and poor below 0.2 (Ebel and Frisbie,
    Essentials of educational measurement, 1991)."""
    chance = 1.96 / math.sqrt(answers - 1)  # two standard errors of a correlation of 0
    if value <= -0.2:
        finding = "Those who did well on the other questions got it wrong more often"
    elif value < 0.2:
        finding = "It hardly tells those apart who did well on the other questions"
    elif value < 0.4:
        finding = "Those who did well on the other questions got it right somewhat more often"
    else:
        finding = "Those who did well on the other questions got it right much more often"
    if chance >= 1:
        return f"{finding}; with {say.count(answers, 'answer')} this says next to nothing."
    if abs(value) < chance:
        return f"{finding}; with {answers} answers chance alone does up to {chance:.2f}."
    return f"{finding}."
