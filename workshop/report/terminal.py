"""Cards and tables in a terminal: for commands with rich, and as plain text, such as a notebook's words."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from workshop.report.cards import Card  # with Plotly, which no command should wait for

WIDTH = 80
FOLDED = 20  # characters from which on a cell may take several lines
MOST_ROWS = 20  # of a table
COMMAND = "cyan"


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]] = (),
    right: Collection[str] = (),
    gap: int = 2,
    **column: Any,
) -> Table:
    """A table without lines, in which nothing is markup. The columns of the headings `right` hold numbers; `column` are
    settings of all columns, such as `no_wrap`."""
    grid = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for heading in headings:
        grid.add_column(Text(heading), justify="right" if heading in right else "left", **column)
    for row in rows:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return grid


def safe(text: str) -> str:
    """A text by somebody else for a terminal, without control characters."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def labelled(label: str, text: str) -> Text:
    """A sentence with a label in bold before it."""
    return Text.assemble((f"{label}: ", "bold"), text)


def show_verdict(out: Console, verdict: Mapping[str, str]) -> None:
    """Verdict, why and next, each in a paragraph."""
    for name, text in verdict.items():
        out.print(labelled(name.capitalize(), text))


def show(out: Console, cards: Iterable[Card], most_rows: int = MOST_ROWS) -> None:
    """Print what cards say: their titles, words, tables and commands. Figures, and the words about them, are left to
    pages."""
    for card in cards:
        has_figure = any(part["kind"] == "figure" for part in card.parts)
        printed = [line for part in card.parts for line in _printed(part, has_figure, most_rows)]
        if printed and card.title:
            out.print(Text(card.title, style="bold"))
        for line in printed:
            out.print(line, soft_wrap=isinstance(line, Text) and line.style == COMMAND)


def _printed(part: Mapping[str, Any], has_figure: bool, most_rows: int) -> list[Text | Table]:
    if part["kind"] == "words":
        printed: list[Text | Table] = []
        above = ""  # the label above a heading, which stands before it here
        for line in part["lines"]:
            label, text = line["label"].rstrip(":") or above, safe(line["text"])
            above = line["text"] if line["tone"] == "label" and part["lines"][-1] is not line else ""
            if not above and (label or not (has_figure and line["tone"] == "about")):
                printed.append(labelled(label, text) if label else Text(text))
        return printed
    if part["kind"] == "code":
        return [Text(part["text"], style=COMMAND)]
    return [_table_of(part, most_rows)] if part["kind"] == "table" and part["rows"] else []


def _table_of(part: Mapping[str, Any], most_rows: int) -> Table:
    """A card's table, whose headings are no wider than what stands below them. Short cells stay in one line where the
    whole fits."""
    rows = [[_text(cell) for cell in row] for row in part["rows"][:most_rows]]
    grid = table((), gap=1)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    heads = [
        textwrap.fill(heading, max(width, *map(len, heading.split()), 1), break_on_hyphens=False)
        for heading, width in zip(part["headings"], widths, strict=True)
    ]
    widths = [max(width, *map(len, head.split("\n"))) for head, width in zip(heads, widths, strict=True)]
    fits = sum(min(width, FOLDED) + 1 for width in widths) <= WIDTH
    for place, (head, width) in enumerate(zip(heads, widths, strict=True)):
        unfolded = fits and width <= FOLDED
        side: Literal["left", "right"] = "right" if place and unfolded else "left"
        grid.add_column(Text(head), justify=side, overflow="fold", no_wrap=unfolded)
    for row in rows:
        grid.add_row(*(Text(safe(cell)) for cell in row))
    if len(part["rows"]) > most_rows:
        grid.caption, grid.caption_justify = f"and {len(part['rows']) - most_rows} more, see --json", "left"
    return grid


def columns(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as plain text."""
    cells = [[_text(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def plain_text(cards: Iterable[Card]) -> str:
    """The words and tables of cards, as plain text."""
    lines = []
    for card in cards:
        lines += [card.title] if card.title else []
        for part in card.parts:
            if part["kind"] == "code":
                lines.append(part["text"])
            elif part["kind"] == "fold":
                lines += [part["title"], part["text"]]
            elif part["kind"] == "words":
                lines += [f"{sentence['label']} {sentence['text']}".strip() for sentence in part["lines"]]
            elif part["kind"] == "table":
                lines.append(columns(part["headings"], part["rows"]))
    return "\n".join(lines)


def _text(cell: Any) -> str:
    if isinstance(cell, Mapping):
        return " ".join(target["text"] for target in cell["links"]) if "links" in cell else str(cell["text"])
    return str(cell)
