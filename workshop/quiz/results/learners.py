"""Results of each learner of a round: points, right and missed questions, and marks by tag."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from workshop.core import words as say
from workshop.quiz.results.record import Results
from workshop.quiz.results.statistics import quartiles

LEAST = 4  # questions that a learner must have been present for, before a low share means anything
LOW = 0.5  # share of the marks below which a learner may need help


@dataclass(frozen=True)
class Tag:
    """A learner's marks on the questions with one tag."""

    name: str
    questions: int  # questions with marks for which the learner was present
    mark: float  # mean, 0..1; a missing answer counts 0


@dataclass(frozen=True)
class LearnerResult:
    nickname: str
    place: int  # by points; learners with equal points share a place
    points: float
    possible: float  # points of the questions for which the learner was present, without a speed bonus
    share: float | None  # of the marks of these questions, without a bonus; None if there were none
    there: int  # number of questions for which the learner was present
    answered: int
    judged: int
    right: int
    seconds: float | None  # median per answer
    total: float  # seconds of all answers
    wrong: tuple[str, ...]  # questions with a wrong answer
    missed: tuple[str, ...]  # questions for which the learner was present and didn't answer
    late: tuple[str, ...]  # questions that were over before the learner joined
    tags: tuple[Tag, ...]


@dataclass(frozen=True)
class HelpNeed:
    """A learner who may need help, and the reason."""

    nickname: str
    words: str


def learners(results: Results) -> tuple[LearnerResult, ...]:
    """All learners by points; learners with equal points keep the order in which they joined."""
    points = {player.id: _points(results, player.id) for player in results.players}
    ordered = sorted(points.values(), reverse=True)
    places = {value: ordered.index(value) + 1 for value in set(ordered)}
    unsorted = [_learner(results, player.id, player.nickname, places[points[player.id]]) for player in results.players]
    return tuple(sorted(unsorted, key=lambda learner: learner.place))


def help_wanted(people: Sequence[LearnerResult]) -> tuple[HelpNeed, ...]:
    """Learners who may need help: with few answers, or with low marks that are also among the lowest of the class.
    (If the marks of the whole class are low, the questions need revision.) Learners who were hardly present are not
    judged."""
    lowest = quartiles([learner.share for learner in people if learner.share is not None])
    needs = []
    for learner in people:
        if learner.there < LEAST:
            continue
        if learner.answered < learner.there / 2:
            why = (
                f"answered {learner.answered} of {learner.there} questions; perhaps something kept them from answering"
            )
        elif learner.share is not None and lowest is not None and learner.share < LOW and learner.share <= lowest.low:
            fewest = f", fewest on {weak}" if (weak := _weak(learner)) else ""
            why = f"has {say.percent(learner.share)} of the marks{fewest}"
        else:
            continue
        needs.append(HelpNeed(learner.nickname, f"{learner.nickname} {why}."))
    return tuple(needs)


def _weak(learner: LearnerResult) -> str:
    """The tag with the lowest mark, if that is lower than the learner's share."""
    worst = min((tag for tag in learner.tags if tag.questions >= 2), key=lambda tag: tag.mark, default=None)
    return worst.name if worst is not None and learner.share is not None and worst.mark < learner.share else ""


def _points(results: Results, player: int) -> float:
    return math.fsum(answer.points or 0.0 for answer in results.answers_by(player).values())


def _learner(results: Results, player: int, nickname: str, place: int) -> LearnerResult:
    answers = results.answers_by(player)
    attended = [question for question in results.questions if player in results.present(question.id)]
    counted = [question for question in attended if results.counts(question.id)]
    worth = {question.id: results.deck.points_of(question) for question in counted}
    possible = math.fsum(worth.values())
    marks = {id: (answers[id].share or 0.0) if id in answers else 0.0 for id in worth}
    judged = [answer for answer in answers.values() if answer.share is not None]
    times = [answer.seconds for answer in answers.values() if answer.seconds is not None]
    middle = quartiles(times)
    by_tag: dict[str, list[float]] = {}
    for question in counted:
        for tag in dict.fromkeys(question.tags):
            by_tag.setdefault(tag, []).append(marks[question.id])
    return LearnerResult(
        nickname=nickname,
        place=place,
        points=_points(results, player),
        possible=possible,
        share=math.fsum(worth[id] * marks[id] for id in worth) / possible if possible else None,
        there=len(attended),
        answered=len(answers),
        judged=len(judged),
        right=sum(bool(answer.right) for answer in judged),
        seconds=middle.median if middle else None,
        total=math.fsum(times),
        wrong=tuple(id for id in results.question_ids if id in answers and answers[id].right is False),
        missed=tuple(question.id for question in attended if question.id not in answers),
        late=tuple(question.id for question in results.questions if question not in attended),
        tags=tuple(Tag(name, len(values), fmean(values)) for name, values in by_tag.items()),
    )
