"""Which learners are stuck in a lab, on which exercise, and their last hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workshop.core.words import count

if TYPE_CHECKING:
    from workshop.course.progress import ExerciseProgress, LabStanding

WRONG = 3  # checks in a row that aren't right: then somebody is stuck
IDLE = 600.0  # seconds without anything new in a lab that isn't finished: likewise
RECENT = 3600.0  # seconds: who did nothing for longer has left, and isn't stuck
ENDINGS = {  # by the state of the last check
    "empty": "the last one found nothing there yet",
    "error": "the last one ended in an error",
    "late": "the last one had not ended in time",
}


@dataclass(frozen=True)
class Stuck:
    """That somebody needs help: a sentence, and the last hint that they got."""

    lab: str
    exercise: str  # "": none in particular
    words: str
    hint: str
    since: float  # of the last thing they did, seconds since the epoch


def find(labs: Sequence[LabStanding], now: float) -> Stuck | None:
    """The exercise that a learner got wrong again and again, or a lab without any progress. None where the learner
    isn't stuck or has left, and for labs that the course doesn't have any more.

    Other machines' clocks may be ahead: a time in the future counts as now.
    """
    attempted = [lab for lab in labs if lab.lab.number is not None and lab.at_it]
    tried = [(lab, exercise) for lab in attempted for exercise in lab.exercises if exercise.mark == "stuck"]
    late = [pair for pair in tried if now - (pair[1].at or now) <= RECENT]
    if late:
        return _on_exercise(*max(late, key=lambda pair: pair[1].at or now), now)
    newest = max(attempted, key=lambda lab: lab.last_at or now, default=None)
    at = max((lab.last_at for lab in labs if lab.last_at is not None), default=now)  # of anything: a quiz, too
    if newest is None or newest.finished or not IDLE <= now - at <= RECENT:
        return None
    return _idle(newest, at, now)


def _on_exercise(where: LabStanding, exercise: ExerciseProgress, now: float) -> Stuck:
    at = exercise.at or now
    how = ENDINGS.get(exercise.state)
    words = (
        f"{exercise.id} in {where.lab.words}: {count(exercise.wrong, 'check')} in a row not right, "
        f"{ago(now - at)}{f'; {how}' if how else ''}."
    )
    return Stuck(where.lab.name, exercise.id, words, exercise.said, at)


def _idle(where: LabStanding, at: float, now: float) -> Stuck:
    waits = next(exercise for exercise in where.exercises if exercise.mark != "right")
    words = (
        f"{waits.id} in {where.lab.words}: nothing new for {minutes(now - at)}, {where.solved} of "
        f"{count(len(where.exercises), 'exercise')} right."
    )
    return Stuck(where.lab.name, waits.id, words, waits.said, at)


def minutes(seconds: float) -> str:
    """Whole minutes, so that a page doesn't change every second."""
    return f"{max(int(seconds // 60), 0)} min"


def ago(seconds: float) -> str:
    """How long ago something was."""
    if seconds < 60:
        return "just now"
    if seconds < 7200:
        return f"{minutes(seconds)} ago"
    hours = int(seconds // 3600)
    return f"{hours} h ago" if hours < 48 else f"{hours // 24} days ago"


def time_ago(at: float | None, now: float) -> str:
    """How long ago a moment was; "" where nobody knows it."""
    return ago(now - at) if at is not None else ""
