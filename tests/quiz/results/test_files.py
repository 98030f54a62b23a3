"""A round as CSV, XLSX and HTML, read back by other programs' readers, whatever people call themselves."""

from __future__ import annotations

import csv as csv_of
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quiz.results.rounds import DECK, deck, made, whole_class
from workshop.quiz.deck import Deck
from workshop.quiz.results import spreadsheets
from workshop.quiz.results.findings import find
from workshop.quiz.results.record import Results
from workshop.web.quiz.results import style, write_report

NASTY = [
    '=HYPERLINK("http://example.org")',
    "+1+1",
    "-2",
    "@SUM(A1)",
    "\tTab",
    "＝1",
    '"quoted", with comma; semicolon',
    "two\r\nlines",
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "Mia 👩‍🚀",
    "علي",
    "\u202eabc",
    "#N/A",
    "{world}",
    "\ud800",
    "\0\x07",
    "x" * 40_000,
]


def named(names: list[str]) -> Results:
    answers: list[dict[str, Any]] = [{"world": 0, "word": name or "?", "sum": -2.5} for name in names]
    return made(DECK, answers, names)


def from_csv(results: Results) -> list[dict[str, str]]:
    return list(csv_of.DictReader(io.StringIO(spreadsheets.csv(find(results)).decode("utf-8-sig"), newline="")))


class Page(HTMLParser):
    """The elements of a page, what leads elsewhere, and its text."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_csv_has_a_row_for_each_learner_and_question() -> None:
    results = replace(made(deck(3), [{"q1": 0, "q2": 1}, {"q3": 2}]), absent={"q1": frozenset({2})})
    written = spreadsheets.csv(find(results))
    assert written.startswith(b"\xef\xbb\xbflearner,number,")
    assert written.count(b"\r\n") == 7
    read = from_csv(results)
    assert [row["status"] for row in read] == ["answered", "answered", "missed", "not there", "missed", "answered"]
    assert (read[0]["answer"], read[0]["right"], read[0]["share"]) == ("A: option 0", "yes", "1.0")
    assert (read[1]["right"], read[1]["points"]) == ("no", "0.0")
    assert (read[2]["answer"], read[2]["share"]) == ("", "")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(NASTY)), min_size=1, max_size=4))
def test_no_cell_of_csv_or_xlsx_begins_like_a_formula(names: list[str]) -> None:
    results = named(names)
    read = from_csv(results)
    assert len(read) == len(names) * len(DECK.questions)
    book = openpyxl.load_workbook(io.BytesIO(spreadsheets.xlsx(find(results))))
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line if cell.value is not None]
    assert all(cell.data_type in ("s", "n", "e") for cell in cells), "nothing is a formula or a date"
    texts = [cell.value for cell in cells if cell.data_type == "s"]
    texts += [text for row in read for name, text in row.items() if not re.fullmatch(r"-?[0-9.e+-]+", text)]
    assert not [text for text in texts if text.startswith(spreadsheets.FORMULA)]


@settings(deadline=None)
@given(st.one_of(st.text(), st.sampled_from(NASTY)))
def test_a_guarded_cell_keeps_its_text(text: str) -> None:
    cell = str(spreadsheets.safe(text))
    assert len(cell) <= spreadsheets.LONGEST_CELL + 1
    cell.encode()
    if len(text) <= spreadsheets.LONGEST_CELL and text.isprintable():
        assert cell.removeprefix("'") == text.removeprefix("'")
    assert cell.startswith("'") >= text.startswith(spreadsheets.FORMULA)


def test_a_workbook_has_three_sheets_with_heads_that_stay() -> None:
    found = find(whole_class(12))
    book = openpyxl.load_workbook(io.BytesIO(spreadsheets.xlsx(found)))
    assert book.sheetnames == ["Questions", "Learners", "Answers"]
    assert [sheet.max_row for sheet in book] == [8, 13, 12 * 7 + 1]
    assert all(sheet.freeze_panes == "B2" for sheet in book)
    heads = [cell.value for cell in book["Questions"][1]]
    first = dict(zip(heads, [cell.value for cell in book["Questions"][2]], strict=True))
    item = found.items[0]
    assert first["share right"] == pytest.approx(item.share)
    assert first["discrimination"] == pytest.approx(item.discrimination)


def test_the_report_shows_all_as_text_and_asks_nobody_for_anything() -> None:
    page = Page(write_report(find(named(NASTY))))
    loading = {*("script", "img", "link", "iframe", "object", "embed", "base", "form", "a", "audio", "video", "image")}
    assert not loading & set(page.elements)
    assert not [name for name, _ in page.attributes if name in ("href", "src", "style") or name.startswith("on")]
    for name in NASTY[:5]:
        assert name.strip() in page.text
    assert "http-equiv" in dict(page.attributes)
    policy = next(value for name, value in page.attributes if name == "content" and "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "url(" not in style()
    assert "@import" not in style()


def test_markup_in_a_deck_is_shown_as_text() -> None:
    evil = "<script>alert(1)</script>"
    question = {
        "id": "q",
        "type": "single",
        "text": evil,
        "tags": [evil],
        "options": [{"text": evil, "right": True}, {"text": f"b{evil}", "feedback": evil}],
    }
    of = Deck.model_validate({"deck": "evil", "title": evil, "questions": [question]})
    page = Page(write_report(find(made(of, [{"q": 0}, {"q": 1}, {"q": 1}]))))
    assert "script" not in page.elements
    assert page.text.count(evil) >= 5


@pytest.mark.parametrize("learners", [0, 1, 2, 3, 30])
def test_every_size_of_class_has_all_files(learners: int) -> None:
    found = find(whole_class(learners))
    assert len(from_csv(found.results)) == learners * 7
    assert len(openpyxl.load_workbook(io.BytesIO(spreadsheets.xlsx(found))).sheetnames) == 3
    text = Page(write_report(found)).text
    for part in ("Why", "Next", "Discrimination is"):
        assert part in text
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert document["players"] == len(document["learners"]) == learners
    assert {"verdict", "why", "next", "questions", "again", "notes"} <= set(document)


def test_without_nicknames_none_is_anywhere() -> None:
    names = ["Ada Lovelace", "Grace Hopper", "Alan Turing"]
    wrong: list[dict[str, Any]] = [{"q1": 1, "q2": 1, "q3": 1, "q4": 1}] * 3
    found = find(made(deck(4), wrong, names), anonymous=True)
    files = [spreadsheets.csv(found).decode(), write_report(found).decode(), json.dumps(found.as_json())]
    book = openpyxl.load_workbook(io.BytesIO(spreadsheets.xlsx(found)))
    files.append(str([cell.value for sheet in book for line in sheet.iter_rows() for cell in line]))
    for text in files:
        assert "learner-1" in text
        assert not [name for name in names if name in text]
