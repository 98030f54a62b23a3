"""The questions of a round: the share of right answers, the answers, discrimination, and the gain between two votes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workshop.core import words as say
from workshop.quiz.results.answers import AnswerChoice, choices, plain
from workshop.quiz.results.record import Results, RoundAnswer


@dataclass(frozen=True)
class Gain:
    """Two votes on a question. Shares are of the graded answers, 0..1; changes are of learners who voted twice."""

    before: float  # share of right answers in the first vote
    after: float  # in the second vote
    improved: int  # learners whose first answer was wrong and whose second answer is right
    worsened: int
    both: int  # learners who voted twice

    @property
    def normalised(self) -> float | None:
        """The share of the possible gain that was reached, (after - before) / (1 - before); None where all were right
        before (Hake, Interactive-engagement versus traditional methods, American Journal of Physics 66, 1998)."""
        return None if self.before == 1 else (self.after - self.before) / (1 - self.before)

    @property
    def words(self) -> str:
        normalised = "" if self.normalised is None else f", a normalised gain of {self.normalised:.2f} (Hake 1998)"
        return (
            f"First vote {say.percent(self.before)} right, second vote {say.percent(self.after)} right{normalised}. Of "
            f"{say.count(self.both, 'learner')} who voted twice, {self.improved} went from wrong to right and "
            f"{self.worsened} from right to wrong."
        )


def gain(first: Sequence[RoundAnswer], second: Sequence[RoundAnswer]) -> Gain | None:
    """The gain from the first to the second vote; None where a vote has no graded answer."""
    before = {answer.player: bool(answer.right) for answer in first if answer.right is not None}
    after = {answer.player: bool(answer.right) for answer in second if answer.right is not None}
    if not before or not after:
        return None
    both = before.keys() & after.keys()
    return Gain(
        sum(before.values()) / len(before),
        sum(after.values()) / len(after),
        sum(after[player] and not before[player] for player in both),
        sum(before[player] and not after[player] for player in both),
        len(both),
    )


@dataclass(frozen=True)
class Item:
    """One question. Shares are of the graded answers; missing answers don't count as wrong."""

    number: int  # its place in the deck, from 1
    id: str
    type: str
    text: str
    worth: float  # points
    there: int  # number of present players
    answered: int
    judged: int
    right: int
    share: float | None  # of right answers, 0..1; None without graded answers
    discrimination: float | None  # -1..1; None where it is not defined
    chosen: tuple[AnswerChoice, ...]
    gain: Gain | None  # None: the class voted once
    first: tuple[AnswerChoice, ...]  # as `chosen`, of the first vote

    @property
    def commonest_wrong(self) -> AnswerChoice | None:
        """The wrong answer that most learners gave; None where no answer is wrong."""
        wrong = [row for row in self.chosen if row.right is False and row.count]
        return max(wrong, key=lambda row: row.count, default=None)


def items(results: Results) -> tuple[Item, ...]:
    places = {question.id: number for number, question in enumerate(results.deck.questions, 1)}
    return tuple(_item(results, places[id], id) for id in results.question_ids)


def _item(results: Results, number: int, id: str) -> Item:
    question, answers, judged = results.deck.question(id), results.answers_to[id], results.judged[id]
    before = results.first_vote(id)
    right = sum(bool(answer.right) for answer in judged)
    return Item(
        number=number,
        id=id,
        type=question.type,
        text=plain(results, question, question.text),
        worth=results.deck.points_of(question),
        there=len(results.present[id]),
        answered=len(answers),
        judged=len(judged),
        right=right,
        share=right / len(judged) if judged else None,
        discrimination=_discrimination(judged, other_scores(results, id)),
        chosen=tuple(choices(results, question)),
        gain=gain(before.judged[id], judged) if before else None,
        first=tuple(choices(before, question)) if before else (),
    )


def other_scores(results: Results, question: str) -> Mapping[int, float]:
    """Each player's score on the other questions, 0..1: the share of the possible marks, without a speed bonus.
    Unanswered questions give no marks if the player was present. Players without any other question are omitted."""
    others = [other for other in results.questions if other.id != question and results.counts(other.id)]
    worth = {other.id: results.deck.points_of(other) for other in others}
    present = {other.id: results.present[other.id] for other in others}
    scores = {}
    for player in results.players:
        answers = results.answers_by[player.id]
        possible = [id for id in worth if player.id in present[id]]
        if most := math.fsum(worth[id] for id in possible):
            got = (worth[id] * (answers[id].share or 0.0) for id in possible if id in answers)
            scores[player.id] = round(math.fsum(got) / most, 9)  # equal scores stay equal
    return scores


def _discrimination(judged: Sequence[RoundAnswer], scores: Mapping[int, float]) -> float | None:
    """The correlation between the mark and the score on the other questions (Henrysson, Correction of item-total
    correlations in item analysis, Psychometrika 28, 1963). It is point-biserial if marks are only 0 and 1. None for
    fewer than three answers, and where all marks or all scores are equal."""
    pairs = [(answer.share or 0.0, scores[answer.player]) for answer in judged if answer.player in scores]
    if len(pairs) < 3 or any(len(set(values)) == 1 for values in zip(*pairs, strict=True)):
        return None
    return statistics.correlation(*zip(*pairs, strict=True))
