"""How grid studies look in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from rich.table import Table
from rich.text import Text

from workshop.core import words
from workshop.report import terminal
from workshop.study.grid.axes import shown
from workshop.study.grid.kind import GridReport
from workshop.study.results import CellResult, ranked
from workshop.study.terminal import rate, show_report

WIDTH = 80
LISTED = 20  # cells of a grid that has no picture
NOTED = 6  # reasons that are told
BEST = "green"


def show_grid(found: GridReport) -> None:
    """A grid study: its cells, the best marked, those that failed with their reasons; its verdict."""
    notes = _Notes()
    axes = {axis: list(values) for axis, values in found.axes.items()}
    table = _matrix(found, axes, notes) or _table(found, axes, notes)
    show_report(found, table, *notes.lines())


class _Notes:
    """Reasons why cells are white, each with a letter."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def mark(self, cell: CellResult) -> str:
        """What a cell without a figure shows."""
        if cell.status not in ("failed", "pruned"):
            return {"running": "…", "queued": "…"}.get(cell.status, "·")
        sign = "x" if cell.status == "failed" else "<"
        if cell.why not in self._letters and len(self._letters) >= NOTED:
            return sign
        letter = self._letters.setdefault(cell.why, ascii_lowercase[len(self._letters)])
        return f"{sign} {letter}"

    def lines(self) -> list[Text]:
        return [Text(f"{letter}: {why}", style="yellow") for why, letter in self._letters.items()]


def _matrix(found: GridReport, axes: Mapping[str, Sequence[Any]], notes: _Notes) -> Table | None:
    """Two axes as rows and columns; None where there are others than two, or where it would be too wide."""
    if len(axes) != 2:
        return None
    down, across = sorted(axes, key=lambda axis: -len(axes[axis])) if _wide(axes) else list(axes)
    cells = {(str(cell.point.get(down)), str(cell.point.get(across))): cell for cell in found.rows}
    lines = [
        [shown(row), *(_cell(cells.get((str(row), str(column))), found.best, notes) for column in axes[across])]
        for row in axes[down]
    ]
    heads = [f"{_plain(down)} \\ {_plain(across)}", *(shown(column) for column in axes[across])]
    widths = [max(len(str(line[at])) for line in [heads, *lines]) for at in range(len(heads))]
    if sum(widths) + 2 * len(widths) > WIDTH:
        return None
    table = terminal.table(heads, lines, right=heads, no_wrap=True)
    table.caption, table.caption_justify = found.unit, "left"
    return table


def _wide(axes: Mapping[str, Sequence[Any]]) -> bool:
    """Whether the second axis has so many values that it had better go down."""
    first, second = axes.values()
    return len(second) > max(len(first), 6)


def _table(found: GridReport, axes: Mapping[str, Sequence[Any]], notes: _Notes) -> Table:
    """A line for each cell: in the grid's order for one axis, else the fastest first, as many as one can read."""
    rows = found.rows
    if len(axes) > 1:
        measured = ranked(rows)
        rows = [*measured, *(cell for cell in rows if not cell.rates)][:LISTED]
    single = next(iter(axes)) if len(axes) == 1 else ""
    table = terminal.table([])
    table.add_column(Text(_plain(single) if single else "cell"), overflow="fold", max_width=38)
    for head in (found.unit, "lowest-highest", "of best", "runs"):
        table.add_column(head, justify="right", no_wrap=True)
    for cell in rows:
        name = shown(cell.point.get(single)) if single else cell.label
        mine = found.best is not None and cell is found.best
        table.add_row(Text(name, style=BEST if mine else ""), *_figures(cell, found.best, notes))
    if len(found.rows) > len(rows):
        table.caption = f"and {len(found.rows) - len(rows)} more, see --json"
    return table


def _figures(cell: CellResult, best: CellResult | None, notes: _Notes) -> list[str | Text]:
    if cell.median is None:
        return [notes.mark(cell), "", "", ""]
    low_high = f"{rate(min(cell.rates))}-{rate(max(cell.rates))}" if len(cell.rates) > 1 else ""
    share = words.percent(cell.median / best.median) if best is not None and best.median else ""
    return [_cell(cell, best, notes), low_high, share, str(len(cell.rates))]


def _cell(cell: CellResult | None, best: CellResult | None, notes: _Notes) -> Text:
    if cell is None:
        return Text("")
    if cell.median is None:
        return Text(notes.mark(cell), style="yellow")
    mine = best is not None and cell is best
    return Text(f"{rate(cell.median)}{'*' if mine else ''}", style=BEST if mine else "")


def _plain(axis: str) -> str:
    return axis.removeprefix("env.").removeprefix("params.")
