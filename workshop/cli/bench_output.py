"""What commands that measure speed share: a bar while they measure, and their document as a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workshop.cli import common


def show(document: dict[str, Any], as_json: bool) -> None:
    from rich.console import Console

    from workshop.report import terminal

    if as_json:
        common.answer(document)
        return
    rows = [
        (
            row["name"],
            "-" if row.get("value") is None else f"{row['value']:.4g}",
            row.get("note") or row.get("unit", ""),
        )
        for row in document["rows"]
        if row["name"] not in document["ratios"]
    ]
    intervals = document.get("intervals", {})
    notes = {row["name"]: f", {row['note']}" for row in document["rows"] if row.get("note")}
    for name, value in document["ratios"].items():
        ends = f" ({intervals[name][0]:.3f} to {intervals[name][1]:.3f})" if name in intervals else ""
        rows.append((name, f"{value:.3f}" if ends else f"{value:.2f}", f"x{ends}{notes.get(name, '')}"))
    Console(highlight=False).print(terminal.table(("measured", "value", "unit"), rows, right=("value",)))


def table(lines: Sequence[Sequence[str]]) -> None:
    """Print lines of cells; the first line has the headings."""
    from rich.console import Console

    from workshop.report import terminal

    Console(highlight=False).print(terminal.table(lines[0] if lines else (), lines[1:]))


def with_bar(measure: Callable[[Callable[[int, int], None]], dict[str, Any]]) -> dict[str, Any]:
    """Measure, with a bar of the turns on a terminal."""
    return with_bar_and_words(lambda progress, say: measure(progress))


def with_bar_and_words(
    measure: Callable[[Callable[[int, int], None], Callable[[str], None]], dict[str, Any]],
) -> dict[str, Any]:
    """The same for what also has something to say meanwhile."""
    from rich.progress import Progress

    err = common.stderr()
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("measuring", total=None)
        return measure(lambda done, total: bar.update(task, completed=done, total=total), err.print)
