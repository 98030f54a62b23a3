"""Cards and tables in a terminal: for commands with rich, and as plain text, such as a notebook's words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from workshop.report.cards import Card  # with Plotly, which no command should wait for


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Text]] = (),
    right: Collection[str] = (),
    gap: int = 2,
    **column: Any,
) -> Table:
    """A table without lines, in which nothing is markup. The columns of the headings `right` hold numbers; `column` are
    settings of all columns, such as `no_wrap`."""
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for heading in headings:
        made.add_column(Text(heading), justify="right" if heading in right else "left", **column)
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def labelled(label: str, text: str) -> Text:
    """A sentence with a label in bold before it."""
    return Text.assemble((f"{label}: ", "bold"), text)


def show_verdict(out: Console, said: Mapping[str, str]) -> None:
    """Verdict, why and next, each in a paragraph."""
    for name, text in said.items():
        out.print(labelled(name.capitalize(), text))


def columns(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as plain text."""
    cells = [[_text(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def said(cards: Iterable[Card]) -> str:
    """What cards say in words and tables, as plain text."""
    told = []
    for card in cards:
        for part in card.parts:
            if part["kind"] == "words":
                told += [f"{one['label']} {one['text']}".strip() for one in part["lines"]]
            elif part["kind"] == "table":
                told.append(columns(part["headings"], part["rows"]))
    return "\n".join(told)


def _text(cell: Any) -> str:
    if isinstance(cell, Mapping):
        return " ".join(one["text"] for one in cell["links"]) if "links" in cell else str(cell["text"])
    return str(cell)
