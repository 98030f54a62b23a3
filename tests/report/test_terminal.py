"""Tables and cards in a terminal."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from rich.console import Console
from rich.text import Text

from workshop.report import cards, terminal
from workshop.report.cards import Card


def printed(*shown: object) -> str:
    text = io.StringIO()
    out = Console(file=text, width=60, highlight=False)
    for one in shown:
        out.print(one)
    return text.getvalue()


def test_nothing_in_a_table_is_markup() -> None:
    made = terminal.table(["[bold]name[/]", "n"], [["[red]Ada[/]", Text("7")]], right=("n",))
    assert "[bold]name[/]" in printed(made) and "[red]Ada[/]" in printed(made)
    assert [column.justify for column in made.columns] == ["left", "right"]


def test_a_verdict_is_a_paragraph_for_each_of_its_parts() -> None:
    text = io.StringIO()
    terminal.show_verdict(Console(file=text, width=60, highlight=False), {"verdict": "[Good]", "why": "Because."})
    assert text.getvalue() == "Verdict: [Good]\nWhy: Because.\n"


def test_cards_as_plain_text() -> None:
    rows = [["a", {"text": "rank 0", "colour": "#000000"}], ["long", {"links": [cards.link("/run", "1")]}]]
    card = Card("x", "X", (cards.words(cards.line("text", "Label")), cards.table(["h", "i"], rows)))
    assert terminal.said([card]) == "Label text\nh     i\na     rank 0\nlong  1"


@pytest.mark.real
def test_commands_don_t_wait_for_plotly() -> None:
    code = "import sys, workshop.report.terminal; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
