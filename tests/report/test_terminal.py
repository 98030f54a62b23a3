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


def test_cards_as_plain_text() -> None:
    rows = [["a", {"text": "rank 0", "colour": "#000000"}], ["long", {"links": [cards.link("/run", "1")]}]]
    card = Card("x", "X", (cards.paragraph(cards.line("text", "Label")), cards.table(["h", "i"], rows)))
    assert terminal.plain_text([card]) == "X\nLabel text\nh     i\na     rank 0\nlong  1"


@pytest.mark.real
def test_commands_don_t_wait_for_plotly() -> None:
    code = "import sys, workshop.report.terminal; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_cards_are_printed_without_their_figures() -> None:
    rows = [[f"placement {number}", "12,345 to 67,890", "no room for so many words " * 3] for number in range(25)]
    shown = Card(
        "cells",
        "All [cells]",
        (
            {"kind": "figure", "figure": None},
            cards.paragraph(cards.line("of the figure", tone="about"), cards.line("it says so", "Why:")),
            cards.table(["Setting", "Lowest to highest", "Why not"], rows),
            cards.code("workshop run kmeans " + "--set name=value " * 8),
        ),
    )
    text = io.StringIO()
    terminal.show(Console(file=text, width=80, highlight=False), [shown, Card("empty", "Nothing", ())])
    lines = text.getvalue().splitlines()
    assert lines[:2] == ["All [cells]", "Why: it says so"] and "of the figure" not in text.getvalue()
    assert "Nothing" not in text.getvalue()
    assert max(len(line) for line in lines if not line.startswith("workshop run")) <= 80
    assert "12,345 to 67,890" in text.getvalue(), "short cells stay in one line"
    assert "and 5 more, see --json" in text.getvalue() and lines[-1].count("--set name=value") == 8
