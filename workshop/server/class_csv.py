"""The class as CSV: a row for each learner, lab and thing of it, which are exercises, predictions and quizzes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from workshop.course.progress import Class, LabStanding
from workshop.quiz.results.rows import Cell, safe
from workshop.server.class_sections import value_words

HEADINGS = (
    *("learner", "lab", "number", "minutes in the lab", "kind", "item", "state", "tries", "wrong in a row"),
    *("right since", "hint", "guess", "measured", "right answers", "questions", "answered", "changed"),
)


def write(found: Class) -> bytes:
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
