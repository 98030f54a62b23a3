"""A round as files for spreadsheets: a CSV of all answers, and a workbook of questions, learners and answers.

pandas and openpyxl take a second to import, so this module is imported where somebody asks for a file.
"""

from __future__ import annotations

import io
from typing import Any

import pandas as pd
from openpyxl.styles import Alignment, Font, PatternFill

from workshop.quiz.results import rows
from workshop.quiz.results.findings import RoundFindings

NARROW, WIDE = 9, 50  # characters of a column
_BOLD = Font(bold=True)
_GREY = PatternFill("solid", fgColor="F2F5F8")
_WRAPPED = Alignment(vertical="top", wrap_text=True)
_TOP = Alignment(vertical="top")
_SHARES = ("share", "95 %", "mean mark", "marks on")  # what headings of shares begin with


def csv(found: RoundFindings) -> bytes:
    """A row for each learner and question. CSV as RFC 4180 has it, in UTF-8 with a byte order mark: without one,
    spreadsheets on Windows read nicknames in the machine's old code page; in Python it is opened as `utf-8-sig`."""
    return _frame(rows.answers(found)).to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig")


def xlsx(found: RoundFindings) -> bytes:
    """A workbook. Text is written as text, whatever it begins with, and no cell is a formula."""
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="openpyxl") as book:
        for table in rows.tables(found):
            _frame(table).to_excel(book, sheet_name=table.name, index=False, freeze_panes=(1, 1), autofilter=True)
            # The list of answers is long: its cells have no look of their own, which takes time to write.
            _style(book.sheets[table.name], table, plain=table.name == "Answers")
    return file.getvalue()


def _frame(table: rows.Table) -> pd.DataFrame:
    return pd.DataFrame(list(table.rows), columns=list(table.headings), dtype=object)  # numbers stay as they are


def _style(sheet: Any, table: rows.Table, plain: bool) -> None:
    for heading, (head, *cells) in zip(table.headings, sheet.columns, strict=True):
        head.font, head.fill = _BOLD, _GREY
        texts = [cell for cell in cells if isinstance(cell.value, str)]
        longest = max(len(cell.value) for cell in [head, *texts])
        sheet.column_dimensions[head.column_letter].width = min(max(longest, NARROW), WIDE) + 2
        for cell in texts:
            cell.data_type = "s"  # what reads like an error is text, too
        for cell in () if plain else cells:
            cell.alignment = _WRAPPED if cell.data_type == "s" and len(cell.value) > WIDE else _TOP
            if isinstance(cell.value, float):
                cell.number_format = "0 %" if heading.startswith(_SHARES) else "0.0##"
