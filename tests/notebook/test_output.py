"""How what ranks print is kept and drawn, without a notebook."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.engine.cells import CLEAR, TEXT
from workshop.notebook.output import LINES, OfRank, Output, OutputTail, as_html, without_escapes

PRINTABLE = st.text(st.characters(include_characters="\n\t", exclude_categories=("Cs", "Cc")))


@given(st.lists(st.text("ab\n", max_size=30), max_size=30))
def test_text_is_kept_however_it_was_cut(pieces: list[str]) -> None:
    whole, cut = OutputTail(), OutputTail()
    whole.write("".join(pieces))
    for piece in pieces:
        cut.write(piece)
    assert whole.text == cut.text
    assert whole.left_out == cut.left_out
    lines = "".join(pieces).split("\n")
    kept = lines[:-1][-LINES:] + ([lines[-1]] if lines[-1] else [])
    assert whole.text == "\n".join(kept)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("1 %\r2 %\r3 %", "3 %"),
        ("1 %\r2 %\n", "2 %"),
        ("one\r\ntwo\r\n", "one\ntwo"),
        ("kept\r", "kept"),
    ],
)
def test_progress_bars_are_one_line(printed: str, shown: str) -> None:
    tail = OutputTail()
    for letter in printed:
        tail.write(letter)
    assert tail.text == shown


@given(PRINTABLE)
def test_html_is_escaped(text: str) -> None:
    assert unescape(as_html(text)) == text
    assert "<" not in as_html(text)


@given(st.text("\x1b[]0123456789;mKh<>a\n", max_size=60))
def test_no_escape_sequence_gets_through(text: str) -> None:
    assert "\x1b" not in without_escapes(text)
    assert "\x1b" not in as_html(text)
    tags = re.sub(r'</?span( style="[-a-z:; #0-9]*")?>', "", as_html(text))
    assert "<" not in tags


def test_colours_become_html() -> None:
    red = "color: #d1242f; text-decoration-color: #d1242f"
    assert as_html("\x1b[1;31mred\x1b[0m <b>") == f'<span style="{red}; font-weight: bold">red</span> &lt;b&gt;'
    assert as_html("\x1b[31mx\x1b[39my") == f'<span style="{red}">x</span>y'
    assert as_html("\x1b[41mx\x1b[49my") == '<span style="background-color: #d1242f">x</span>y'
    assert 'style="color: #ff0000;' in as_html("\x1b[38;5;196mx")
    assert 'style="color: #010203;' in as_html("\x1b[38;2;1;2;3mx")
    assert as_html(f"\x1b[{'9' * 5000}mx") == "x"
    assert as_html("\x1b[2K\x1b[?25lbar\x1b[3") == "bar"


def test_clearing_waits_for_what_comes_next() -> None:
    rank = OfRank()
    for data in ({TEXT: "1"}, {CLEAR: True}, {TEXT: "2"}, {CLEAR: True}):
        rank.take({"data": data})
    assert rank.tail.text == "2"
    rank.take({"data": {CLEAR: False}})
    assert rank.tail.text == ""


def test_updated_displays_take_their_place() -> None:
    rank = OfRank()
    for html, more in (("1", {"display_id": "a"}), ("2", {}), ("3", {"display_id": "a", "update": True})):
        rank.take({"data": {"text/html": html}, "transient": more})
    assert [one["data"]["text/html"] for one in rank.displays] == ["3", "2"]


def test_ranks_are_shown_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.begin(2)
    output.ranks[1].take({"data": {TEXT: "\x1b[31m<one>\x1b[0m\n"}})
    output.ranks[0].take({"data": {TEXT: "zero\nnought"}})
    output.finish()  # no notebook: text, once
    assert capsys.readouterr().out == "rank 0 | zero\nrank 0 | nought\nrank 1 | <one>\n"
    assert output.html().index("rank 0") < output.html().index("rank 1")
    assert "&lt;one&gt;" in output.html()
