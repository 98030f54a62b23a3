"""What the instructor's page shows of the class, as sections for `workshop.server.push` and as CSV."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from workshop.core import words
from workshop.course.class_progress import Classroom
from workshop.course.progress import (
    Class,
    ExerciseProgress,
    LabStanding,
    LearnerProgress,
    Outline,
    PredictionProgress,
    QuizProgress,
)
from workshop.course.stuck import ago
from workshop.quiz.results.rows import Cell, safe
from workshop.report.sentences import dumps
from workshop.store.read_only import now as as_of

EVERY = 1.0  # seconds between looks
LONGEST = 400  # characters of a hint or value that are shown
MARKS = {"right": "right", "wrong": "not right yet", "stuck": "wrong again and again", "none": "not tried yet"}
STATES = {
    "right": "was right",
    "hint": "was not right",
    "empty": "found nothing there",
    "error": "ended in an error",
    "late": "did not end in time",
}
KINDS = {"alone": "alone", "live": "with the class"}


class ClassLook:
    """Looks at everybody: one row for each learner, one column for each lab."""

    every = EVERY

    def __init__(self, room: Classroom) -> None:
        self._room = room

    def __call__(self) -> Mapping[str, str]:
        found, now = self._room.look(), as_of(self._room.store.database)
        learners = [one for one in found.learners if not one.quizzes_only]
        stuck = [{"name": one.name, "words": one.stuck.words, "hint": cut(one.stuck.hint)}
                 for one in learners if one.stuck]  # fmt: skip
        return {
            "labs": dumps([_lab(lab, number, learners) for number, lab in enumerate(found.labs)]),
            "stuck": dumps(stuck),
            "learners": dumps([_row(one, now) for one in learners]),
            "others": dumps([_row(one, now) for one in found.learners if one.quizzes_only]),
            "notes": dumps(self._room.problems),
        }


class LearnerLook:
    """Looks at one learner: every lab with its tries, hints, predictions and quizzes."""

    every = EVERY

    def __init__(self, room: Classroom, name: str) -> None:
        self._room, self._name = room, name

    def __call__(self) -> Mapping[str, str]:
        found, now = self._room.look(self._name), as_of(self._room.store.database)
        learner = found.learner(self._name)
        return {"learner": dumps(_detail(learner, now) if learner else None), "name": dumps(self._name)}


def _lab(lab: Outline, number: int, learners: list[LearnerProgress]) -> dict[str, Any]:
    at_it = [one.labs[number] for one in learners if one.labs[number].at_it]
    return {
        "name": lab.name,
        "number": lab.number,
        "title": lab.title,
        "exercises": len(lab.exercises),
        "begun": len(at_it),
        "done": sum(one.finished for one in at_it),
    }


def _row(learner: LearnerProgress, now: float) -> dict[str, Any]:
    last = learner.last
    return {
        "name": learner.name,
        "stuck": learner.stuck is not None,
        "last": f"{last.last} ({last.lab.label}), {_ago(last.last_at, now)}" if last else "",
        "labs": [_cell(one) if one.begun else None for one in learner.labs],
    }


def _cell(where: LabStanding) -> dict[str, Any]:
    return {
        "marks": [
            {"mark": one.mark, "words": f"{one.id}: {MARKS[one.mark]}{_tries(one)}"}
            for one in (where.exercises if where.at_it else ())
        ],
        "solved": where.solved,
        "of": len(where.exercises),
        "finished": where.finished,
        "quizzes": [{"share": words.percent(one.share), "words": _quiz(one)} for one in where.quizzes],
        "minutes": round(where.minutes),
    }


def _detail(learner: LearnerProgress, now: float) -> dict[str, Any]:
    return {
        "name": learner.name,
        "stuck": {"words": learner.stuck.words, "hint": cut(learner.stuck.hint)} if learner.stuck else None,
        "labs": [_lab_detail(one, now) for one in learner.labs if one.begun],
        "waiting": [one.lab.label for one in learner.labs if not one.begun],
    }


def _lab_detail(where: LabStanding, now: float) -> dict[str, Any]:
    told = "the notebook was not begun"
    if where.at_it:
        solved = f"{where.solved} of {words.count(len(where.exercises), 'exercise')} right"
        told = f"{solved}, {words.count(round(where.minutes), 'minute')} in it"
    gone = "not in the course now; " if where.lab.number is None else ""
    return {
        "name": where.lab.name,
        "label": where.lab.label,
        "words": words.capital(f"{gone}{told}; {where.last} {_ago(where.last_at, now)}."),
        "exercises": [_exercise(one, now) for one in (where.exercises if where.at_it else ())],
        "predictions": [_prediction(one) for one in where.predictions],
        "quizzes": [_quiz(one) for one in where.quizzes],
    }


def _exercise(one: ExerciseProgress, now: float) -> dict[str, Any]:
    told = ""
    if one.tries:
        told = (
            f"{words.count(one.tries, 'check')}; the last one {STATES.get(one.state, one.state)}, {_ago(one.at, now)}"
        )
    return {"id": one.id, "mark": one.mark, "words": MARKS[one.mark], "told": told, "said": cut(one.said)}


def _prediction(one: PredictionProgress) -> dict[str, str]:
    return {"id": one.id, "guess": cut(value_words(one.guess)), "measured": cut(value_words(one.measured))}


def _quiz(one: QuizProgress) -> str:
    so_far = f", {one.answered} answered so far" if one.answered < one.questions else ""
    told = f"{words.short(one.right)} of {one.questions} right{so_far}"
    return f"Quiz {KINDS[one.kind]}: {words.percent(one.share)} ({told})"


def _tries(one: ExerciseProgress) -> str:
    return f" ({words.count(one.tries, 'check')})" if one.tries else ""


def value_words(value: Any) -> str:
    """A guess or a measured value as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return words.short(value) if isinstance(value, float) else str(value)


def _ago(at: float | None, now: float) -> str:
    return ago(now - at) if at is not None else ""


def cut(text: str) -> str:
    """A text that is short enough for a page that everybody's are on."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


HEADINGS = (
    *("learner", "lab", "number", "minutes in the lab", "kind", "item", "state", "tries", "wrong in a row"),
    *("right since", "hint", "guess", "measured", "right answers", "questions", "answered", "changed"),
)


def write_csv(found: Class) -> bytes:
    """CSV in UTF-8 with a byte order mark, which spreadsheets need; times are local. What people typed is never a
    formula there."""
    import pandas as pd  # takes half a second, for which a server that starts would wait

    rows = []
    for learner in found.learners:
        for where in learner.labs:
            for cells in _cells(where) if where.begun else ():
                row = {"learner": learner.name, "lab": where.lab.name, "number": where.lab.number, **cells}
                row["minutes in the lab"] = round(where.minutes, 1)
                rows.append([safe(row.get(name)) for name in HEADINGS])
    written = pd.DataFrame(rows, columns=list(HEADINGS), dtype=object).to_csv(index=False, lineterminator="\r\n")
    return written.encode("utf-8-sig")


def _cells(where: LabStanding) -> Iterator[dict[str, Cell]]:
    for one in where.exercises:
        told = {"state": one.state or "not tried", "tries": one.tries, "wrong in a row": one.wrong, "hint": one.said}
        yield {"kind": "exercise", "item": one.id, **told, "right since": _when(one.right_at), "changed": _when(one.at)}
    for guess in where.predictions:
        told = {"guess": value_words(guess.guess), "measured": value_words(guess.measured)}
        yield {"kind": "prediction", "item": guess.id, **told, "changed": _when(guess.at)}
    for quiz in where.quizzes:
        told = {"right answers": round(quiz.right, 2), "questions": quiz.questions, "answered": quiz.answered}
        yield {"kind": "quiz", "item": quiz.kind, **told, "changed": _when(quiz.at)}


def _when(at: float | None) -> str | None:
    return None if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
