"""Answers as CSV: a row for each learner and question."""

from __future__ import annotations

import csv
import io

from workshop.quiz.results import rows
from workshop.quiz.results.findings import Findings


def write(found: Findings) -> bytes:
    """CSV as RFC 4180 has it, in UTF-8 with a byte order mark: without one, spreadsheets on Windows read nicknames in
    the machine's old code page; whoever reads it in Python opens it as `utf-8-sig`."""
    text = io.StringIO(newline="")
    table = rows.answers(found)
    writer = csv.writer(text)
    writer.writerow(table.headings)
    writer.writerows(table.rows)
    return text.getvalue().encode("utf-8-sig")
