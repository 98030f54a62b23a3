"""The findings about a round: its questions (share right, answers, discrimination, the gain between two votes), those
to go over again, marks by learner, and Verdict, Why, Next."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from workshop.core import words
from workshop.quiz.results.answers import AnswerChoice, choices, plain
from workshop.quiz.results.record import Results, RoundAnswer

FEW_RIGHT = 0.5  # share of right answers below which a question is to be gone over again
MANY_WRONG = 1 / 3  # share of the answers from which on a wrong answer is common
FIRST = 3  # questions that the next step names
_LEVELS = (
    (0.8, "knows nearly all of this"),
    (0.6, "knows most of this"),
    (0.4, "knows about half of this"),
    (0.0, "does not know most of this yet"),
)


def revision_items(questions: Sequence[Item]) -> tuple[Item, ...]:
    """The questions with few right answers or a common wrong one, the hardest first."""

    def is_hard(item: Item) -> bool:
        common = item.commonest_wrong and item.commonest_wrong.count >= max(2, MANY_WRONG * item.answered)
        return item.share is not None and bool(item.share < FEW_RIGHT or common)

    return tuple(sorted(filter(is_hard, questions), key=lambda item: item.share or 0.0))


@dataclass(frozen=True)
class LearnerResult:
    nickname: str
    place: int  # by points; learners with equal points share a place
    points: float  # with a speed bonus
    marks: float  # points without a bonus
    possible: float  # points of the questions for which the learner was present, without a bonus
    there: int  # number of questions for which the learner was present
    answered: int
    judged: int
    right: int
    wrong: tuple[str, ...]  # questions with a wrong answer
    missed: tuple[str, ...]  # questions for which the learner was present and didn't answer


def learners(results: Results) -> tuple[LearnerResult, ...]:
    """All learners by points; learners with equal points keep the order in which they joined."""
    points = {
        player.id: math.fsum(answer.points or 0.0 for answer in results.answers_by[player.id].values())
        for player in results.players
    }
    ordered = sorted(points.values(), reverse=True)
    learners = [
        _learner(results, player.id, player.nickname, ordered.index(points[player.id]) + 1, points[player.id])
        for player in results.players
    ]
    return tuple(sorted(learners, key=lambda learner: learner.place))


def _learner(results: Results, player: int, nickname: str, place: int, points: float) -> LearnerResult:
    answers = results.answers_by[player]
    attended = [question for question in results.questions if player in results.present[question.id]]
    worth = {question.id: results.deck.points_of(question) for question in attended if results.counts(question.id)}
    judged = [answer for answer in answers.values() if answer.share is not None]
    return LearnerResult(
        nickname=nickname,
        place=place,
        points=points,
        marks=math.fsum(worth[id] * (answers[id].share or 0.0) for id in worth if id in answers),
        possible=math.fsum(worth.values()),
        there=len(attended),
        answered=len(answers),
        judged=len(judged),
        right=sum(bool(answer.right) for answer in judged),
        wrong=tuple(id for id in results.question_ids if id in answers and answers[id].right is False),
        missed=tuple(question.id for question in attended if question.id not in answers),
    )


def verdict(questions: Sequence[Item], people: Sequence[LearnerResult], revision: Sequence[Item]) -> Mapping[str, str]:
    """`verdict`, `why` and `next`, each with one or more sentences."""
    answered = sum(item.answered for item in questions)
    if not answered:
        why = f"{words.count(len(people), 'learner')} took part and gave no answer."
        return {"verdict": "Nobody answered", "why": why, "next": "Play the round with a class."}
    possible = sum(item.there for item in questions)
    why = f"{words.count(len(people), 'learner')} gave {answered} of {possible} possible answers."
    shares = [learner.marks / learner.possible for learner in people if learner.possible]
    judged = [item for item in questions if item.share is not None]
    if not judged or not shares:
        why = f"{why} No question has a right answer, or no answer has been graded."
        return {"verdict": "There are answers, but no marks", "why": why, "next": "Talk about what was chosen."}
    mark = fmean(shares)
    level = next(level for least, level in _LEVELS if mark >= least)
    hard = min(judged, key=lambda item: item.share or 0.0)
    advice = "No question needs to be gone over again."
    if revision:
        advice = f"Go over {words.numbered('question', [item.number for item in revision[:FIRST]])} again."
    return {
        "verdict": f"The class {level}: {words.percent(mark)} of the marks",
        "why": f"{why} Hardest was question {hard.number} ({hard.right} of {hard.judged} right).",
        "next": advice,
    }


@dataclass(frozen=True)
class RoundFindings:
    results: Results
    verdict: Mapping[str, str]  # verdict, why, next
    items: tuple[Item, ...]
    revision: tuple[Item, ...]
    learners: tuple[LearnerResult, ...]

    @property
    def maximum(self) -> float:
        """The points of all questions that have marks, without a bonus."""
        return math.fsum(item.worth for item in self.items if self.results.counts(item.id))

    def as_json(self) -> dict[str, Any]:
        """The document of `workshop quiz results --json`. Shares are 0..1."""
        results = self.results
        return {
            "round": results.round,
            "title": results.title,
            "deck": results.deck.deck,
            "began": results.began,
            **self.verdict,
            "players": len(results.players),
            "maximum": self.maximum,
            "questions": [asdict(item) for item in self.items],
            "again": [item.id for item in self.revision],
            "learners": [asdict(learner) for learner in self.learners],
            "notes": list(results.notes),
        }


def find(results: Results, *, anonymous: bool = False) -> RoundFindings:
    """Compute the findings about a round."""
    displayed = results.anonymous() if anonymous else results
    questions, people = items(displayed), learners(displayed)
    revision = revision_items(questions)
    return RoundFindings(displayed, verdict(questions, people, revision), questions, revision, people)


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
            f"First vote {words.percent(self.before)} right, second vote {words.percent(self.after)} right"
            f"{normalised}. "
            f"Of {words.count(self.both, 'learner')} who voted twice, {self.improved} went from wrong to right and "
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
