"""A round as files for spreadsheets: a CSV of all answers, and a workbook of questions, learners and answers.

Typed text may begin like a formula, and spreadsheets would compute it. Such cells get an apostrophe in front (OWASP
Application Security Verification Standard 5.0, requirement 1.2.10); numbers stay numbers, also negative ones.
pandas and openpyxl take a second to import, so they are only imported when a file is requested.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from workshop.quiz.results.findings import RoundFindings

Cell = str | int | float | None
Row = Mapping[str, Cell]  # by the headings

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # spreadsheets also accept full-width ones
LONGEST = 16_000  # characters; a spreadsheet's cell holds 32,767 code units
# Characters that XML doesn't allow, and so spreadsheets don't either.
_UNHOLDABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
NARROW, WIDE = 9, 50  # the smallest and the largest width of a column, in characters
_SHARES = ("share", "95 %", "mean mark", "marks on")  # the beginnings of headings of shares
QUESTIONS = (
    *("number", "question", "type", "text", "tags", "points possible", "there", "answered", "judged", "right"),
    *("share right", "95 % from", "95 % to", "mean mark", "mean points"),
    *("seconds, lower quartile", "seconds, median", "seconds, upper quartile"),
    *("share right in the first vote", "normalised gain", "wrong to right", "right to wrong"),
    *("discrimination", "answers behind it", "discrimination in words", "remarks", "why to go over it again"),
)
LEARNERS = (
    *("learner", "place", "points", "points possible", "share of marks", "questions", "answered", "right"),
    *("seconds, median", "seconds, total", "wrong", "missed", "before they came"),
)
ANSWERS = (
    *("learner", "number", "question", "type", "text", "status", "answer", "right", "share", "points"),
    *("points possible", "seconds", "misconception", "first answer", "first answer right"),
)


def safe(cell: Cell) -> Cell:
    """A cell that spreadsheets can store and don't compute."""
    if not isinstance(cell, str):
        return cell
    text = _UNHOLDABLE.sub("\ufffd", cell)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f"'{text}" if text.startswith(FORMULA) else text


def table_csv(rows: Iterable[Row], headings: Iterable[str]) -> bytes:
    """A CSV file (RFC 4180). It is in UTF-8 with a byte order mark, because spreadsheets on Windows would otherwise use
    the machine's old code page; Python reads it as `utf-8-sig`."""
    text: str = _frame(rows, headings).to_csv(index=False, lineterminator="\r\n")
    return text.encode("utf-8-sig")


def when(at: float | None) -> str | None:
    """A local time as a cell."""
    return None if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def csv(findings: RoundFindings) -> bytes:
    """A row for each learner and question."""
    return table_csv(_answers(findings), ANSWERS)


def xlsx(findings: RoundFindings) -> bytes:
    """A workbook. Text always stays text, and no cell is a formula."""
    import pandas as pd

    learners = _learners(findings)
    marks = [heading for row in learners for heading in row]
    sheets = {
        "Questions": _frame(_questions(findings), QUESTIONS),
        "Learners": _frame(learners, dict.fromkeys([*LEARNERS, *marks])),
        "Answers": _frame(_answers(findings), ANSWERS),
    }
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="openpyxl") as book:
        for name, frame in sheets.items():
            frame.to_excel(book, sheet_name=name, index=False, freeze_panes=(1, 1), autofilter=True)
            # The table of answers is long, and styles of cells take time to write.
            _style(book.sheets[name], plain=name == "Answers")
    return file.getvalue()


def _frame(rows: Iterable[Row], headings: Iterable[str]) -> Any:
    import pandas as pd

    names = list(headings)
    cells = [[safe(row.get(name)) for name in names] for row in rows]
    return pd.DataFrame(cells, columns=[safe(name) for name in names], dtype=object)  # numbers stay as they are


def _questions(findings: RoundFindings) -> list[Row]:
    reasons = {item.id: " ".join(reason.words for reason in item.reasons) for item in findings.revision}
    rows: list[Row] = []
    for item in findings.items:
        times, discrimination, gain = item.seconds, item.discrimination, item.gain
        cells: tuple[Cell, ...] = (
            *(item.number, item.id, item.type, item.text, ", ".join(item.tags), item.worth),
            *(item.there, item.answered, item.judged, item.right, item.share, *(item.interval or (None, None))),
            *(item.mark, item.points, *((times.low, times.median, times.high) if times else (None, None, None))),
            *((gain.before, gain.normalised, gain.improved, gain.worsened) if gain else (None,) * 4),
            *(discrimination.value, discrimination.of, discrimination.words, " ".join(item.remarks)),
            reasons.get(item.id),
        )
        rows.append(dict(zip(QUESTIONS, cells, strict=True)))
    return rows


def _learners(findings: RoundFindings) -> list[Row]:
    rows: list[Row] = []
    for learner in findings.learners:
        cells: tuple[Cell, ...] = (
            *(learner.nickname, learner.place, learner.points, learner.possible, learner.share),
            *(learner.there, learner.answered, learner.right, learner.seconds, learner.total),
            *(", ".join(learner.wrong), ", ".join(learner.missed), ", ".join(learner.late)),
        )
        marks = {f"marks on {tag.name}": tag.mark for tag in learner.tags}
        rows.append({**dict(zip(LEARNERS, cells, strict=True)), **marks})
    return rows


def _answers(findings: RoundFindings) -> list[Row]:
    """A row for each learner and question, also without an answer."""
    results = findings.results
    first_votes = {(answer.player, answer.question): answer for answer in results.first_votes}
    rows: list[Row] = []
    for player in results.players:
        for item, question in zip(findings.items, results.questions, strict=True):
            row: dict[str, Cell] = dict(
                zip(ANSWERS, (player.nickname, item.number, item.id, item.type, item.text), strict=False)
            )
            if (first := first_votes.get((player.id, item.id))) is not None:
                row["first answer"] = question.words(results, first.answer)
                row["first answer right"] = _yes(first.right)
            answer = results.answers_by(player.id).get(item.id)
            if answer is None:
                rows.append({**row, "status": "missed" if player.id in results.present(item.id) else "not there"})
                continue
            marks = {"share": answer.share, "points": answer.points, "points possible": item.worth}
            near = None if answer.near is None else answer.near + 1
            more = {"seconds": answer.seconds, "misconception": near}
            text = question.words(results, answer.answer)
            rows.append({**row, "status": "answered", "answer": text, "right": _yes(answer.right), **marks, **more})
    return rows


def _yes(right: bool | None) -> str | None:
    return None if right is None else "yes" if right else "no"


def _style(sheet: Any, plain: bool) -> None:
    from openpyxl.styles import Alignment, Font, PatternFill

    bold, grey = Font(bold=True), PatternFill("solid", fgColor="F2F5F8")
    wrapped, top = Alignment(vertical="top", wrap_text=True), Alignment(vertical="top")
    for head, *cells in sheet.columns:
        head.font, head.fill = bold, grey
        texts = [cell for cell in cells if isinstance(cell.value, str)]
        longest = max(len(cell.value) for cell in [head, *texts])
        sheet.column_dimensions[head.column_letter].width = min(max(longest, NARROW), WIDE) + 2
        for cell in texts:
            cell.data_type = "s"  # otherwise openpyxl would store text like #N/A as an error
        for cell in () if plain else cells:
            cell.alignment = wrapped if cell.data_type == "s" and len(cell.value) > WIDE else top
            if isinstance(cell.value, float):
                cell.number_format = "0 %" if head.value.startswith(_SHARES) else "0.0##"
