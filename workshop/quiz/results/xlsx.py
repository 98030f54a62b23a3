"""A round as a workbook: sheets of questions, learners and answers."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter

from workshop.quiz.results import rows
from workshop.quiz.results.findings import Findings

NARROW, WIDE = 9, 50  # characters of a column
_BOLD = Font(bold=True)
_GREY = PatternFill("solid", fgColor="F2F5F8")
_WRAPPED = Alignment(vertical="top", wrap_text=True)
_TOP = Alignment(vertical="top")
Look = Callable[[Any, rows.Cell, str], Any]
_SHARES = ("share", "95 %", "mean mark", "marks on")  # what headings of shares begin with


def write(found: Findings) -> bytes:
    """An XLSX file. Text is written as text, whatever it begins with, and no cell is a formula."""
    book = Workbook(write_only=True)  # rows go out as they come: a large class has tens of thousands
    questions, learners, answers = rows.tables(found)
    _sheet(book.create_sheet(questions.name), questions, _wrapped)
    _sheet(book.create_sheet(learners.name), learners, _wrapped)
    _sheet(book.create_sheet(answers.name), answers, _plain)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _sheet(sheet: Any, table: rows.Table, cell: Look) -> None:
    # Of a sheet that is written row by row, these come first.
    for place, heading in enumerate(table.headings):
        longest = max((len(str(row[place])) for row in table.rows if isinstance(row[place], str)), default=0)
        width = min(max(longest, len(heading), NARROW), WIDE)
        sheet.column_dimensions[get_column_letter(place + 1)].width = width + 2
    sheet.freeze_panes = "B2"
    if table.rows:
        sheet.auto_filter.ref = f"A1:{get_column_letter(len(table.headings))}{len(table.rows) + 1}"
    heads = [WriteOnlyCell(sheet, heading) for heading in table.headings]
    for head in heads:
        head.font, head.fill = _BOLD, _GREY
    sheet.append(heads)
    formats = ["0 %" if heading.startswith(_SHARES) else "0.0##" for heading in table.headings]
    for row in table.rows:
        sheet.append([cell(sheet, value, look) for value, look in zip(row, formats, strict=True)])


def _wrapped(sheet: Any, value: rows.Cell, look: str) -> Any:
    """A cell whose text goes on in the next line where it is long."""
    cell = WriteOnlyCell(sheet, value)
    cell.alignment = _TOP
    if isinstance(value, str):
        cell.data_type = "s"
        if len(value) > WIDE:
            cell.alignment = _WRAPPED
    elif isinstance(value, float):
        cell.number_format = look
    return cell


def _plain(sheet: Any, value: rows.Cell, look: str) -> Any:
    """A cell of a long list, whose rows have one height. It has no look of its own, which takes time to write."""
    if not (isinstance(value, str) and value.startswith("#")):
        return value
    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"  # what reads like an error is text, too
    return cell
