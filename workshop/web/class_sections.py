"""The class on the instructor's page, as sections for `workshop.web.live` and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workshop.core import words
from workshop.course.class_progress import Classroom
from workshop.course.progress import (
    Class,
    ExerciseProgress,
    LabStanding,
    LearnerProgress,
    Outline,
    QuizProgress,
    time_ago,
)
from workshop.quiz.results.spreadsheets import Cell, table_csv, when
from workshop.report.cards import Card, Part, line, paragraph, table
from workshop.report.figures import theme
from workshop.report.sentences import dumps
from workshop.store.records import Attendance
from workshop.store.sessions import now as as_of
from workshop.store.sessions import recorded
from workshop.store.store import Store
from workshop.web import classroom
from workshop.web.auth_middleware import is_present

ROSTER = ("learner", "joined", "here now", "last here", "last action", "last action at", "asked for help")
EVERY = 1.0  # seconds between looks
LONGEST_HINT = 400  # characters of a hint or value that are shown
MARKS = {"right": "right", "wrong": "not right yet", "stuck": "wrong again and again", "none": "not tried yet"}
COLOURS = {"right": theme.GOOD, "wrong": theme.RANKS[1], "stuck": theme.ALARM, "none": theme.REST}
STATES = {
    "right": "was right",
    "hint": "was not right",
    "empty": "found nothing there",
    "error": "ended in an error",
    "late": "did not end in time",
}
KINDS = {"alone": "alone", "live": "with the class"}
HEADINGS = (
    *("learner", "lab", "number", "minutes in the lab", "kind", "item", "state", "tries", "wrong in a row"),
    *("right since", "hint", "guess", "measured", "right answers", "questions", "answered", "changed"),
)


def read_roster(store: Store, class_: Class, now: float) -> list[Attendance]:
    """Everybody who came in or began a lab, with the last action on the dashboard or in a lab. Those who ask for help
    come first, the longest first, then all others by name. A recording has no roster: it says of nobody when they came.
    """
    if recorded(store.database) is not None:
        return []
    learners = {learner.name: learner for learner in class_.learners if not learner.quizzes_only}
    names, entries = store.of_notebooks(learners), []
    for attendance in store.attendances():
        # A visitor with the name of a notebook is another person: nothing proves that they are the same.
        own_name = attendance.nickname if attendance.nickname not in names.values() else ""
        entries.append(_with_last_action(attendance, learners.pop(names.get(attendance.id, own_name), None)))
    for name, learner in learners.items():  # who only works in notebooks
        began_at = min(lab.began_at for lab in learner.labs if lab.began_at is not None)
        entries.append(_with_last_action(Attendance(0, name, began_at), learner))
    return sorted(entries, key=lambda entry: (entry.help_asked_at or now, entry.nickname.casefold(), entry.id))


def _with_last_action(attendance: Attendance, learner: LearnerProgress | None) -> Attendance:
    lab = learner.last if learner is not None else None
    if lab is None or (attendance.acted_at or 0.0) > (lab.last_at or 0.0):
        return attendance
    return replace(attendance, action=f"{lab.last} ({lab.lab.label})", acted_at=lab.last_at)


def write_roster(store: Store, class_: Class, now: float) -> bytes:
    """The roster as CSV; times are local."""
    rows = []
    for entry in read_roster(store, class_, now):
        present = "yes" if is_present(entry, now) else "no"
        action = (entry.action, when(entry.acted_at), when(entry.help_asked_at))
        cells = (entry.nickname, when(entry.created_at), present, when(entry.seen_at), *action)
        rows.append(dict(zip(ROSTER, cells, strict=True)))
    return table_csv(rows, ROSTER)


class ClassLook:
    """Looks at everybody: one row for each learner, one column for each lab; and at the roster."""

    every = EVERY

    def __init__(self, room: Classroom) -> None:
        self._room = room

    def __call__(self) -> Mapping[str, str]:
        class_, now = self._room.look(), as_of(self._room.store.database)
        learners = [learner for learner in class_.learners if not learner.quizzes_only]
        places = _shown_labs(class_, classroom.pace(self._room.store).lab)
        stuck = [{"name": learner.name, "words": learner.stuck.words, "hint": cut(learner.stuck.hint)}
                 for learner in learners if learner.stuck]  # fmt: skip
        roster = [
            {
                "name": entry.nickname,
                "present": is_present(entry, now),
                "here": "here" if is_present(entry, now) else time_ago(entry.seen_at, now),
                "joined": time_ago(entry.created_at, now),
                "action": f"{entry.action}, {time_ago(entry.acted_at, now)}" if entry.action else "",
                "help": f"asked {time_ago(entry.help_asked_at, now)}" if entry.help_asked_at else "",
            }
            for entry in read_roster(self._room.store, class_, now)
        ]
        return {
            "labs": dumps([_lab(class_.labs[place], place, learners) for place in places]),
            "stuck": dumps(stuck),
            "learners": dumps([_row(learner, now, places) for learner in learners]),
            "others": dumps([_row(learner, now, places) for learner in class_.learners if learner.quizzes_only]),
            "roster": dumps(roster),
            "notes": dumps(self._room.problems),
        }


def _lab(lab: Outline, place: int, learners: list[LearnerProgress]) -> dict[str, Any]:
    at_it = [learner.labs[place] for learner in learners if learner.labs[place].at_it]
    counts = {"begun": len(at_it), "done": sum(where.finished for where in at_it)}
    return {"name": lab.name, "number": lab.number, "title": lab.title, "exercises": len(lab.exercises), **counts}


def _shown_labs(class_: Class, pace: str) -> list[int]:
    """The places of the labs that have a column: the one at which the class is comes first, then those that somebody
    has begun; all labs where that is none."""
    places = range(len(class_.labs))
    begun = [place for place in places if any(learner.labs[place].begun for learner in class_.learners)]
    current = [place for place in places if class_.labs[place].name == pace]
    return list(dict.fromkeys([*current, *begun])) or list(places)


def _row(learner: LearnerProgress, now: float, places: list[int]) -> dict[str, Any]:
    last = learner.last
    return {
        "name": learner.name,
        "stuck": learner.stuck is not None,
        "last": f"{last.last} ({last.lab.label}), {time_ago(last.last_at, now)}" if last else "",
        "labs": [_cell(learner.labs[place]) if learner.labs[place].begun else None for place in places],
    }


def _cell(where: LabStanding) -> dict[str, Any]:
    marks = []
    for exercise in where.exercises if where.at_it else ():
        tries = f" ({words.count(exercise.tries, 'check')})" if exercise.tries else ""
        marks.append({"mark": exercise.mark, "words": f"{exercise.id}: {MARKS[exercise.mark]}{tries}"})
    return {
        "marks": marks,
        "solved": where.solved,
        "of": len(where.exercises),
        "finished": where.finished,
        "quizzes": [{"share": words.percent(quiz.share), "words": _quiz(quiz)} for quiz in where.quizzes],
        "minutes": round(where.minutes),
    }


def learner_cards(learner: LearnerProgress, now: float) -> list[Card]:
    """One learner: every lab with its tries, hints, predictions and quizzes."""
    lines = []
    if learner.stuck:
        lines.append(line(f"Stuck. {learner.stuck.words}", tone="alarm"))
        lines += [line(cut(learner.stuck.hint), "Last hint:")] if learner.stuck.hint else []
    if waiting := [lab.lab.label for lab in learner.labs if not lab.begun]:
        lines.append(line(f"Not begun: {', '.join(waiting)}.", tone="about"))
    return [Card("learner", "", (paragraph(*lines),)), *(_lab_card(lab, now) for lab in learner.labs if lab.begun)]


def _lab_card(where: LabStanding, now: float) -> Card:
    summary = "the notebook was not begun"
    if where.at_it:
        solved = f"{where.solved} of {words.count(len(where.exercises), 'exercise')} right"
        summary = f"{solved}, {words.count(round(where.minutes), 'minute')} in it"
    gone = "not in the course now; " if where.lab.number is None else ""
    sentence = words.capital(f"{gone}{summary}; {where.last} {time_ago(where.last_at, now)}.")
    parts = [paragraph(line(sentence, tone="about"))]
    if where.at_it and where.exercises:
        rows = [_exercise(exercise, now) for exercise in where.exercises]
        parts.append(table(("Exercise", "State", "Checks", "Last hint"), rows))
    if where.predictions:
        guesses = [
            (guess.id, value_words(guess.guess) or "–", value_words(guess.measured) or "not yet")
            for guess in where.predictions
        ]
        parts.append(table(("Prediction", "Predicted", "Measured"), guesses))
    parts += [paragraph(line(_quiz(quiz))) for quiz in where.quizzes]
    return Card(where.lab.name, where.lab.label, tuple(parts))


def _exercise(exercise: ExerciseProgress, now: float) -> tuple[str | Part, ...]:
    tries = ""
    if exercise.tries:
        state = STATES.get(exercise.state, exercise.state)
        tries = f"{words.count(exercise.tries, 'check')}; the last one {state}, {time_ago(exercise.at, now)}"
    mark = {"text": MARKS[exercise.mark], "colour": COLOURS[exercise.mark]}
    return exercise.id, mark, tries, cut(exercise.said)


def _quiz(quiz: QuizProgress) -> str:
    so_far = f", {quiz.answered} answered so far" if quiz.answered < quiz.questions else ""
    result = f"{words.quantity(quiz.right)} of {quiz.questions} right{so_far}"
    return f"Quiz {KINDS[quiz.kind]}: {words.percent(quiz.share)} ({result})"


def value_words(value: Any) -> str:
    """A guess or a measured value as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return words.quantity(value) if isinstance(value, float) else cut(str(value))


def cut(text: str) -> str:
    """A text that is short enough for a page that everybody's are on."""
    return text if len(text) <= LONGEST_HINT else f"{text[:LONGEST_HINT]} …"


def write_csv(class_: Class) -> bytes:
    """Everybody's progress as CSV; times are local."""
    rows = []
    for learner in class_.learners:
        for where in learner.labs:
            about = (learner.name, where.lab.name, where.lab.number, round(where.minutes, 1))
            rows += [dict(zip(HEADINGS, about, strict=False)) | cells for cells in _cells(where) if where.begun]
    return table_csv(rows, HEADINGS)


def _cells(where: LabStanding) -> Iterator[dict[str, Cell]]:
    for exercise in where.exercises:
        cells: dict[str, Cell] = {
            "state": exercise.state or "not tried",
            "tries": exercise.tries,
            "wrong in a row": exercise.wrong,
        }
        cells |= {"hint": exercise.said, "right since": when(exercise.right_at), "changed": when(exercise.at)}
        yield {"kind": "exercise", "item": exercise.id, **cells}
    for guess in where.predictions:
        cells = {"guess": guess.guess, "measured": guess.measured, "changed": when(guess.at)}
        yield {"kind": "prediction", "item": guess.id, **cells}
    for quiz in where.quizzes:
        cells = {"right answers": round(quiz.right, 2), "questions": quiz.questions, "answered": quiz.answered}
        yield {"kind": "quiz", "item": quiz.kind, **cells, "changed": when(quiz.at)}
