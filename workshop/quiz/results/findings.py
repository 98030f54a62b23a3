"""The findings about a round: its questions, those to go over again, marks by learner, and Verdict, Why, Next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from workshop.core import words as say
from workshop.quiz.results.items import Item, items
from workshop.quiz.results.record import Results

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
    revision = []
    for item in questions:
        wrong = item.commonest_wrong
        common = wrong is not None and wrong.count >= max(2, MANY_WRONG * item.answered)
        if item.share is not None and (item.share < FEW_RIGHT or common):
            revision.append(item)
    return tuple(sorted(revision, key=lambda item: item.share or 0.0))


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
        why = f"{say.count(len(people), 'learner')} took part and gave no answer."
        return {"verdict": "Nobody answered", "why": why, "next": "Play the round with a class."}
    possible = sum(item.there for item in questions)
    why = f"{say.count(len(people), 'learner')} gave {answered} of {possible} possible answers."
    shares = [learner.marks / learner.possible for learner in people if learner.possible]
    judged = [item for item in questions if item.share is not None]
    if not judged or not shares:
        why = f"{why} No question has a right answer, or no answer has been graded."
        return {"verdict": "There are answers, but no marks", "why": why, "next": "Talk about what was chosen."}
    mark = fmean(shares)
    level = next(words for least, words in _LEVELS if mark >= least)
    hard = min(judged, key=lambda item: item.share or 0.0)
    advice = "No question needs to be gone over again."
    if revision:
        advice = f"Go over {say.numbered('question', [item.number for item in revision[:FIRST]])} again."
    return {
        "verdict": f"The class {level}: {say.percent(mark)} of the marks",
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
