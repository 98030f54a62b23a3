"""A round as files for spreadsheets: a CSV of all answers, and a workbook of questions, learners and answers.

Typed text may begin like a formula, and spreadsheets would compute it. Such cells get an apostrophe in front (OWASP
Application Security Verification Standard 5.0, requirement 1.2.10); numbers stay numbers, also negative ones.
pandas and openpyxl take a second to import, so they are only imported when a file is requested.

`Gradebook` writes the CSV file for a learning platform. It assigns a grade to the user whose name stands in the column
`Username` (Moodle) or `SIS Login ID` (Canvas); where nicknames are no such names, the instructor changes this column.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz.results import answers
from workshop.quiz.results.findings import RoundFindings

Cell = str | int | float | None
Row = Mapping[str, Cell]  # by the headings

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # spreadsheets also accept full-width ones
LONGEST_CELL = 16_000  # characters; a spreadsheet's cell holds 32,767 code units
# Characters that XML doesn't allow, and so spreadsheets don't either.
_UNHOLDABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
WIDTH = 20  # of a workbook's columns, in characters
QUESTIONS = (
    *("number", "question", "type", "text", "points possible", "there", "answered", "judged", "right", "share right"),
    *("share right in the first vote", "normalised gain", "wrong to right", "right to wrong", "discrimination"),
    *("most common wrong answer", "chosen by", "feedback on it"),
)
LEARNERS = ("learner", "place", "points", "points possible", "questions", "answered", "right", "wrong", "missed")
ANSWERS = (
    *("learner", "number", "question", "type", "text", "status", "answer", "right", "share", "points"),
    *("points possible", "seconds", "misconception", "first answer", "first answer right"),
)


def safe(cell: Cell) -> Cell:
    """A cell that spreadsheets can store and don't compute."""
    if not isinstance(cell, str):
        return cell
    text = _UNHOLDABLE.sub("\ufffd", cell)
    text = text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
    return f"'{text}" if text.startswith(FORMULA) else text


def table_csv(rows: Iterable[Row], headings: Iterable[str]) -> bytes:
    """A CSV file (RFC 4180) in UTF-8 with a byte order mark, without which spreadsheets on Windows use an old code
    page."""
    return bytes(_frame(rows, headings).to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig"))


def when(at: float | None) -> str | None:
    """A local time as a cell."""
    return None if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def csv(findings: RoundFindings) -> bytes:
    """A row for each learner and question."""
    return table_csv(_answers(findings), ANSWERS)


def xlsx(findings: RoundFindings) -> bytes:
    """A workbook with a sheet for questions, learners and answers. No cell is a formula."""
    import pandas as pd

    sheets = {"Questions": (_questions, QUESTIONS), "Learners": (_learners, LEARNERS), "Answers": (_answers, ANSWERS)}
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="openpyxl") as book:
        for name, (rows, headings) in sheets.items():
            _frame(rows(findings), headings).to_excel(
                book, sheet_name=name, index=False, freeze_panes=(1, 1), autofilter=True
            )
            book.sheets[name].sheet_format.defaultColWidth = WIDTH
    return file.getvalue()


def _frame(rows: Iterable[Row], headings: Iterable[str]) -> Any:
    import pandas as pd

    names = list(headings)
    cells = [[safe(row.get(name)) for name in names] for row in rows]
    return pd.DataFrame(cells, columns=[safe(name) for name in names], dtype=object)  # numbers stay as they are


def _questions(findings: RoundFindings) -> Iterable[Row]:
    for item in findings.items:
        gain, wrong = item.gain, item.commonest_wrong
        cells: tuple[Cell, ...] = (
            *(item.number, item.id, item.type, item.text, item.worth),
            *(item.there, item.answered, item.judged, item.right, item.share),
            *((gain.before, gain.normalised, gain.improved, gain.worsened) if gain else (None,) * 4),
            *(item.discrimination, *((wrong.text, wrong.count, wrong.feedback) if wrong else (None,) * 3)),
        )
        yield dict(zip(QUESTIONS, cells, strict=True))


def _learners(findings: RoundFindings) -> Iterable[Row]:
    for learner in findings.learners:
        counts = (learner.points, learner.possible, learner.there, learner.answered, learner.right)
        wrong, missed = ", ".join(learner.wrong), ", ".join(learner.missed)
        yield dict(zip(LEARNERS, (learner.nickname, learner.place, *counts, wrong, missed), strict=True))


def _answers(findings: RoundFindings) -> Iterable[Row]:
    """A row for each learner and question, also without an answer."""
    results = findings.results
    first_votes = {(answer.player, answer.question): answer for answer in results.first_votes}
    for player in results.players:
        for item, question in zip(findings.items, results.questions, strict=True):
            about = (player.nickname, item.number, item.id, item.type, item.text)
            row: dict[str, Cell] = dict(zip(ANSWERS, about, strict=False))
            if (first := first_votes.get((player.id, item.id))) is not None:
                row["first answer"] = answers.answer_text(results, question, first.answer)
                row["first answer right"] = _yes(first.right)
            answer = results.answers_by[player.id].get(item.id)
            if answer is None:
                yield {**row, "status": "missed" if player.id in results.present[item.id] else "not there"}
                continue
            marks = {"share": answer.share, "points": answer.points, "points possible": item.worth}
            near = None if answer.near is None else answer.near + 1
            more = {"seconds": answer.seconds, "misconception": near}
            text = answers.answer_text(results, question, answer.answer)
            yield {**row, "status": "answered", "answer": text, "right": _yes(answer.right), **marks, **more}


def _yes(right: bool | None) -> str | None:
    return None if right is None else "yes" if right else "no"


Kind = Literal["moodle", "canvas", "csv"]
TITLES: dict[Kind, str] = {"moodle": "Grades for Moodle", "canvas": "Grades for Canvas", "csv": "Grades as CSV"}
DIGITS = 5  # of a score behind the point, as many as Moodle keeps
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")  # the columns before the grades


@dataclass(frozen=True)
class Gradebook:
    """The grades of one activity: each learner with a score, and the score that is possible."""

    activity: str
    scores: tuple[tuple[str, float], ...]  # by learner
    maximum: float

    def write(self, kind: str) -> bytes:
        """The table as a file of this kind. Raises BadInput for an unknown kind."""
        if kind not in get_args(Kind):
            raise BadInput(f"There is no gradebook {kind[:40]!r}; there are {words.listed(get_args(Kind))}.")
        scores = [(learner, round(score, DIGITS)) for learner, score in self.scores]
        if kind == "canvas":
            points: Row = {"Student": "Points Possible", self.activity: self.maximum}
            rows: list[Row] = [{"Student": who, "SIS Login ID": who, self.activity: score} for who, score in scores]
            return table_csv([points, *rows], (*CANVAS, self.activity))
        heads = ("Username", self.activity, "Maximum grade") if kind == "moodle" else ("learner", "score", "maximum")
        return table_csv([dict(zip(heads, (*score, self.maximum), strict=True)) for score in scores], heads)


def of_round(findings: RoundFindings) -> Gradebook:
    """The grades of a round: points without a bonus for speed. A question that a learner missed gives 0."""
    scores = tuple((learner.nickname, learner.marks) for learner in findings.learners)
    return Gradebook(findings.results.title, scores, findings.maximum)
