"""Each learner of a round: points, what was right, what was missed, and how each tag went."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from workshop.core import words as say
from workshop.quiz.results.record import Results
from workshop.quiz.results.statistics import quartiles

LEAST = 4  # questions that somebody could answer, from which on a low share says anything
LOW = 0.5  # share of the marks below which somebody may need help


@dataclass(frozen=True)
class Tag:
    """How the questions with one tag went."""

    name: str
    questions: int  # with marks, while the learner was there
    mark: float  # mean, 0..1; what wasn't answered has none


@dataclass(frozen=True)
class LearnerResult:
    nickname: str
    place: int  # by points; learners with equal points share one
    points: float
    possible: float  # points of the questions for which they were there, without a bonus for speed
    share: float | None  # of the marks of these questions, without a bonus; None where there were none
    there: int  # questions
    answered: int
    judged: int
    right: int
    seconds: float | None  # median per answer
    total: float  # seconds of all answers
    wrong: tuple[str, ...]  # questions answered, and not right
    missed: tuple[str, ...]  # questions for which they were there and didn't answer
    late: tuple[str, ...]  # questions that were over before they came
    tags: tuple[Tag, ...]


@dataclass(frozen=True)
class HelpNeed:
    """Somebody who may need help, and what suggests it."""

    nickname: str
    words: str


def learners(results: Results) -> tuple[LearnerResult, ...]:
    """All of them, the one with most points first; equal ones in the order in which they joined."""
    points = {player.id: _points(results, player.id) for player in results.players}
    ordered = sorted(points.values(), reverse=True)
    places = {value: ordered.index(value) + 1 for value in set(ordered)}
    made = [_learner(results, player.id, player.nickname, places[points[player.id]]) for player in results.players]
    return tuple(sorted(made, key=lambda one: one.place))


def help_wanted(found: Sequence[LearnerResult]) -> tuple[HelpNeed, ...]:
    """Who may need help: few marks, and few beside the class; or few answers. Whoever has hardly been there is not
    judged, and where a whole class has few marks it is the questions that are gone over again."""
    lowest = quartiles([one.share for one in found if one.share is not None])
    told = []
    for one in found:
        if one.there < LEAST:
            continue
        if one.answered < one.there / 2:
            why = f"answered {one.answered} of {one.there} questions; perhaps something kept them from answering"
        elif one.share is not None and lowest is not None and one.share < LOW and one.share <= lowest.low:
            fewest = f", fewest on {weak}" if (weak := _weak(one)) else ""
            why = f"has {say.percent(one.share)} of the marks{fewest}"
        else:
            continue
        told.append(HelpNeed(one.nickname, f"{one.nickname} {why}."))
    return tuple(told)


def _weak(one: LearnerResult) -> str:
    """The tag that went worst, where it went worse than the rest."""
    worst = min((tag for tag in one.tags if tag.questions >= 2), key=lambda tag: tag.mark, default=None)
    return worst.name if worst is not None and one.share is not None and worst.mark < one.share else ""


def _points(results: Results, player: int) -> float:
    return math.fsum(one.points or 0.0 for one in results.by(player).values())


def _learner(results: Results, player: int, nickname: str, place: int) -> LearnerResult:
    answers = results.by(player)
    there = [one for one in results.questions if player in results.there(one.id)]
    counted = [one for one in there if results.counts(one.id)]
    worth = {one.id: results.deck.points_of(one) for one in counted}
    possible = math.fsum(worth.values())
    marks = {id: (answers[id].share or 0.0) if id in answers else 0.0 for id in worth}
    judged = [one for one in answers.values() if one.share is not None]
    times = [one.seconds for one in answers.values() if one.seconds is not None]
    middle = quartiles(times)
    names = dict.fromkeys(tag for one in counted for tag in one.tags)
    return LearnerResult(
        nickname=nickname,
        place=place,
        points=_points(results, player),
        possible=possible,
        share=math.fsum(worth[id] * marks[id] for id in worth) / possible if possible else None,
        there=len(there),
        answered=len(answers),
        judged=len(judged),
        right=sum(bool(one.right) for one in judged),
        seconds=middle.median if middle else None,
        total=math.fsum(times),
        wrong=tuple(id for id in results.asked if id in answers and answers[id].right is False),
        missed=tuple(one.id for one in there if one.id not in answers),
        late=tuple(one.id for one in results.questions if one not in there),
        tags=tuple(_tag(name, [marks[one.id] for one in counted if name in one.tags]) for name in names),
    )


def _tag(name: str, marks: Sequence[float]) -> Tag:
    return Tag(name, len(marks), math.fsum(marks) / len(marks))
